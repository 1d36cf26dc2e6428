# Installs toolglot for the current user, without administrator rights: the release archive of this machine, its checksum verified.
#
# usage: install.ps1 [-Version X.Y.Z] [-To FOLDER] [-Uninstall]
# TOOLGLOT_RELEASES names another place with the same files as install.sh describes.
param(
  [string]$Version = '',
  [string]$To = (Join-Path $env:LOCALAPPDATA 'Programs\toolglot'),
  [switch]$Uninstall
)
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue' # the progress bar slows Invoke-WebRequest down
$binary = Join-Path $To 'toolglot.exe'

function Set-UserPath([scriptblock]$change) {
  $entries = @([Environment]::GetEnvironmentVariable('Path', 'User') -split ';' | Where-Object { $_ })
  [Environment]::SetEnvironmentVariable('Path', ((& $change $entries) -join ';'), 'User')
}

if ($Uninstall) {
  if (-not (Test-Path $binary)) { throw "toolglot: there is no $binary" }
  Remove-Item $binary
  Set-UserPath { param($entries) $entries | Where-Object { $_ -ne $To } }
  Write-Output "removed $binary"
  return
}

$releases = 'https://github.com/toolglot/toolglot/releases'
if (-not $Version) {
  $latest = if ($env:TOOLGLOT_RELEASES) { "$env:TOOLGLOT_RELEASES/latest" } else { "$releases/latest/download/VERSION" }
  $Version = (Invoke-RestMethod $latest).Trim()
}
$Version = $Version.TrimStart('v')
if ($Version -notmatch '^[0-9A-Za-z.+-]+$') { throw "toolglot: this is not a version: $Version" }
$machine = if ($env:PROCESSOR_ARCHITECTURE -eq 'ARM64') { 'aarch64' } else { 'x86_64' }
$name = "toolglot-v$Version-$machine-pc-windows-msvc"
$base = if ($env:TOOLGLOT_RELEASES) { "$env:TOOLGLOT_RELEASES/v$Version" } else { "$releases/download/v$Version" }
$work = Join-Path ([IO.Path]::GetTempPath()) ([Guid]::NewGuid())
New-Item -ItemType Directory $work | Out-Null
try {
  Invoke-WebRequest "$base/$name.zip" -OutFile "$work\$name.zip" -UseBasicParsing
  Invoke-WebRequest "$base/SHA256SUMS" -OutFile "$work\SHA256SUMS" -UseBasicParsing
  $line = Get-Content "$work\SHA256SUMS" | Where-Object { ($_ -split '\s+\*?')[1] -eq "$name.zip" }
  if (-not $line) { throw "toolglot: SHA256SUMS has no line for $name.zip" }
  $wanted = ($line -split '\s+')[0]
  $found = (Get-FileHash "$work\$name.zip" -Algorithm SHA256).Hash.ToLower()
  if ($wanted -ne $found) { throw "toolglot: the checksum of $name.zip is $found, expected ${wanted}: nothing was installed" }
  Expand-Archive "$work\$name.zip" $work
  New-Item -ItemType Directory -Force $To | Out-Null
  # Windows lets a running program be renamed, not replaced.
  if (Test-Path $binary) { Move-Item -Force $binary "$binary.old" }
  Move-Item "$work\$name\toolglot.exe" $binary
} finally {
  Remove-Item -Recurse -Force $work
}
Set-UserPath { param($entries) if ($entries -contains $To) { $entries } else { $entries + $To } }
Write-Output "installed $binary ($(& $binary --version)); open a new terminal and start it with: toolglot serve"
