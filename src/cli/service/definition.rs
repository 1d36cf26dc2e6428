//! Writes the file that makes a system run toolglot at login. A pure function with the same result on every machine.

use crate::config::System;

/// What is run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Job {
    /// The program and its arguments.
    pub(super) command: Vec<String>,
    /// Its variables (Windows sets a user's variables itself).
    pub(super) variables: Vec<(String, String)>,
    /// `DOMAIN\user`, for Windows.
    pub(super) user: String,
}

/// The file as it is written.
pub(super) fn bytes(system: System, job: &Job) -> Vec<u8> {
    match system {
        System::Unix => unit(job).into_bytes(),
        System::MacOs => agent(job).into_bytes(),
        // The one encoding that every version of schtasks reads.
        System::Windows => format!("\u{feff}{}", task(job)).encode_utf16().flat_map(u16::to_le_bytes).collect(),
    }
}

/// A systemd unit (systemd.service(5)). The codes 2 (configuration) and 3 (address taken) would only come again.
fn unit(job: &Job) -> String {
    // In `ExecStart`, `$` begins a variable.
    let words: Vec<String> = job.command.iter().map(|word| quoted(&word.replace('$', "$$"))).collect();
    let variables: String =
        job.variables.iter().map(|(name, value)| format!("Environment={}\n", quoted(&format!("{name}={value}")))).collect();
    format!(
        "[Unit]\nDescription=toolglot: tool calls of local models\nDocumentation=https://github.com/toolglot/toolglot\n\n\
         [Service]\nExecStart={}\n{variables}Restart=on-failure\nRestartSec=2\nRestartPreventExitStatus=2 3\n\n\
         [Install]\nWantedBy=default.target\n",
        words.join(" ")
    )
}

/// A word in quotes (systemd.syntax(7)); `%` begins a specifier.
fn quoted(word: &str) -> String {
    format!("\"{}\"", word.replace('\\', r"\\").replace('"', "\\\"").replace('%', "%%").replace('\n', r"\n"))
}

/// A LaunchAgent (launchd.plist(5)): started at login, and again if it fails.
fn agent(job: &Job) -> String {
    let word = |word: &String| format!("    <string>{}</string>\n", xml(word));
    let words: String = job.command.iter().map(word).collect();
    let variable = |(name, value): &(String, String)| format!("    <key>{}</key><string>{}</string>\n", xml(name), xml(value));
    let variables: String = job.variables.iter().map(variable).collect();
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>{label}</string>
  <key>ProgramArguments</key>
  <array>
{words}  </array>
  <key>EnvironmentVariables</key>
  <dict>
{variables}  </dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>ProcessType</key><string>Interactive</string>
</dict>
</plist>
"#,
        label = super::steps::LABEL
    )
}

/// A task of the Task Scheduler (its XML schema 1.2). With a user of its own in the trigger, it needs no admin rights;
/// `conhost --headless` gives the program a console without a window.
fn task(job: &Job) -> String {
    let words: Vec<String> = job.command.iter().map(|word| argument(word)).collect();
    format!(
        r#"<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo><Description>toolglot: tool calls of local models</Description></RegistrationInfo>
  <Triggers><LogonTrigger><Enabled>true</Enabled><UserId>{user}</UserId></LogonTrigger></Triggers>
  <Principals><Principal id="Author"><UserId>{user}</UserId><LogonType>InteractiveToken</LogonType><RunLevel>LeastPrivilege</RunLevel></Principal></Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
  </Settings>
  <Actions Context="Author"><Exec><Command>conhost.exe</Command><Arguments>{arguments}</Arguments></Exec></Actions>
</Task>
"#,
        user = xml(&job.user),
        arguments = xml(&format!("--headless {}", words.join(" ")))
    )
}

/// A word of a command line, as CommandLineToArgvW reads it: backslashes before a quote are doubled.
fn argument(word: &str) -> String {
    let mut out = String::from("\"");
    let mut backslashes = 0;
    for c in word.chars() {
        match c {
            '\\' => backslashes += 1,
            '"' => {
                out.push_str(&"\\".repeat(backslashes + 1));
                backslashes = 0;
            }
            _ => backslashes = 0,
        }
        out.push(c);
    }
    out.push_str(&"\\".repeat(backslashes));
    out.push('"');
    out
}

fn xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
