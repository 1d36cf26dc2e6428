class Toolglot < Formula
  desc "Local daemon that turns the tool calls of local models into the form a client executes"
  homepage "https://github.com/toolglot/toolglot"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "@BASE@/toolglot-v@VERSION@-aarch64-apple-darwin.tar.gz"
      sha256 "@SHA256:aarch64-apple-darwin.tar.gz@"
    end
    on_intel do
      url "@BASE@/toolglot-v@VERSION@-x86_64-apple-darwin.tar.gz"
      sha256 "@SHA256:x86_64-apple-darwin.tar.gz@"
    end
  end
  on_linux do
    on_arm do
      url "@BASE@/toolglot-v@VERSION@-aarch64-unknown-linux-musl.tar.gz"
      sha256 "@SHA256:aarch64-unknown-linux-musl.tar.gz@"
    end
    on_intel do
      url "@BASE@/toolglot-v@VERSION@-x86_64-unknown-linux-musl.tar.gz"
      sha256 "@SHA256:x86_64-unknown-linux-musl.tar.gz@"
    end
  end

  def install
    bin.install "toolglot"
    generate_completions_from_executable(bin/"toolglot", "completions")
    system bin/"toolglot", "man", "pages"
    man1.install Dir["pages/*.1"]
  end

  service do
    run [opt_bin/"toolglot", "serve"]
    keep_alive crashed: true
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/toolglot --version")
  end
end
