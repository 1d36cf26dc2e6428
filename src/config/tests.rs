use super::*;

fn parse(text: &str) -> Result<Config, String> {
    let environment = Environment::from([("HOME", "/home/u"), ("A_KEY", "s3cret")]);
    Config::parse(text, Some(Path::new("/etc/tg/proxy.toml")), &Overrides::default(), &environment).map_err(|error| error.message)
}

#[test]
fn no_file_is_a_complete_configuration() {
    let environment = Environment::from([("HOME", "/home/u"), ("XDG_DATA_HOME", "/data")]);
    let config = Config::parse("", None, &Overrides::default(), &environment).unwrap();
    let addresses: Vec<String> = config.listen.addresses.iter().map(ToString::to_string).collect();
    assert_eq!(addresses, ["127.0.0.1:8000", "[::1]:8000"]);
    assert_eq!((config.mode, config.retry, config.backends.len()), (Mode::Rewrite, 1, 0));
    assert_eq!(
        config.limits,
        Limits {
            held_bytes: 16384,
            argument_bytes: 8388608,
            body_bytes: 16777216,
            connections: 1000,
            context_tokens: 32768,
            tools_percent: 50
        }
    );
    if cfg!(target_os = "linux") {
        assert_eq!(config.adapters, Overlay::Usual("/home/u/.config/toolglot/adapters".into()));
    }
}

#[test]
fn every_key_acts() {
    let config = parse(
        r#"
        listen = "0.0.0.0:9000"
        api_key_env = "A_KEY"
        modes = ["off", "rewrite"]
        workers = 3
        mode = "off"
        adapters = "mine"
        retry = 3
        allowed_hosts = ["Box.lan"]
        allowed_origins = ["https://Chat.example/"]
        [[backend]]
        name = "far"
        kind = "openai"
        url = "https://far.example/v1/"
        api_key_env = "A_KEY"
        forward_authorization = true
        [[backend]]
        kind = "ollama"
        [[route]]
        model = "gem*"
        backend = "far"
        adapter = "plain"
        mode = "rewrite"
        [limits]
        held_bytes = 100
        argument_bytes = 1000
        body_bytes = 10000
        "#,
    )
    .unwrap();
    assert_eq!(config.listen.addresses.len(), 1);
    assert_eq!(config.access.tenant_of("s3cret").map(|tenant| tenant.name.as_str()), Some("client"));
    assert_eq!(config.access.modes, Some(vec![Mode::Off, Mode::Rewrite]));
    assert_eq!(config.workers.map(usize::from), Some(3));
    assert_eq!(config.mcp.serving.registry_http, RegistryHttp::Token, "other machines may not change the registry");
    assert_eq!(config.adapters, Overlay::Named("/etc/tg/mine".into()));
    assert_eq!((config.mode, config.retry), (Mode::Off, 3));
    assert_eq!(config.allowed_hosts, ["box.lan"]);
    assert_eq!(config.allowed_origins, ["https://chat.example"]);
    assert_eq!(config.backends[0].url, "https://far.example/v1");
    assert_eq!(config.backends[0].key.as_ref().map(Secret::reveal), Some("s3cret"));
    assert!(!format!("{config:?}").contains("s3cret"));
    assert_eq!((config.backends[1].name.as_str(), config.backends[1].url.as_str()), ("ollama", "http://127.0.0.1:11434"));
    assert_eq!(config.route("GEMini").and_then(|route| route.mode), Some(Mode::Rewrite));
    assert_eq!(
        config.limits,
        Limits {
            held_bytes: 100,
            argument_bytes: 1000,
            body_bytes: 10000,
            connections: 1000,
            context_tokens: 32768,
            tools_percent: 50
        }
    );
}

#[test]
fn a_mistake_names_its_line_and_what_was_meant() {
    for (text, expected) in [
        ("mode = \"off\"\nlisten_on = \"x\"\n", "2: unknown field `listen_on`"),
        ("\n\nretries = 2\n", "3: unknown field `retries`; did you mean `retry`?"),
        ("frobnicate = 2\n", "1: unknown field `frobnicate`; there are: `listen`, `mode`"),
        ("[backend]\nkind = \"ollama\"\n", "1: write `[[backend]]`: there can be several of them"),
        ("[[mcp]]\nregistry = \"x\"\n", "1: write `[mcp]`: there is only one of it"),
        ("listen = 127.0.0.1:8010\n", "1: `listen`: put the value in quotes"),
        ("mode = rewrite\n", "1: `mode`: put the value in quotes"),
        ("retry = \"x\"\n", "1: `retry`: a whole number from 0 to 3 is wanted"),
        ("retry = 300\n", "1: `retry`: a whole number from 0 to 3 is wanted"),
        ("workers = 0\n", "1: `workers`: a whole number from 1 on is wanted; it is the integer `0`"),
        ("drain_seconds = 1.5\n", "1: `drain_seconds`: a whole number from 0 on is wanted; it is the number `1.5`"),
        ("progress = 1\n", "1: `progress`: true or false is wanted, without quotes; it is the integer `1`"),
        ("mode = True\n", "1: `mode`: write true or false"),
        ("retry = 1\nretry = 2\n", "2: this key is there twice"),
        ("mode\n", "1: this is not `key = value`"),
        ("mode = 'off\n", "1: `mode`: the quotes are not closed"),
        ("[backend.ollama]\nurl = \"x\"\n", "1: write `[[backend]]`: there can be several of them"),
        ("[[route]]\n", "1: `model` is missing"),
        ("[[backend]]\nurl = \"http://127.0.0.1:99999\"\n", "http://host:port"),
        ("mode = \"rewrit\"\n", "did you mean `rewrite`?"),
        ("[[backend]]\nkind = \"olama\"\n", "did you mean `ollama`?"),
        ("[[backend]]\nkind = \"ollama\"\nurll = \"x\"\n", "3: unknown field `urll`"),
        ("[limits]\nheld_byte = 1\n", "did you mean `held_bytes`?"),
        ("listen = 8000\n", "/etc/tg/proxy.toml:1: `listen`: text is wanted: put it in quotes; it is the integer `8000`"),
        ("[limits]\nheld_bytes = [1]\n", "/etc/tg/proxy.toml:2: `held_bytes`: a whole number from 0 on is wanted"),
        ("modes = [\"off\",\n5]\n", "/etc/tg/proxy.toml:2: text is wanted"),
        ("mode = 5\n", "/etc/tg/proxy.toml:1: `mode`: text is wanted: put it in quotes"),
        ("listen = \"everywhere\"\n", "write it as 127.0.0.1:8000"),
        ("retry = 4\n", "0 to 3"),
        ("allowed_origins = [\"*\"]\n", "1: `allowed_origins`: `*` is not the origin of a page"),
        ("allowed_origins = [\"chat.example\"]\n", "with scheme and without path"),
        ("allowed_origins = [\"https://chat.example/app\"]\n", "with scheme and without path"),
        ("allowed_hosts = [\"*\"]\n", "1: `allowed_hosts`: `*` is not the name of a host"),
        ("allowed_hosts = [\"http://box.lan\"]\n", "without scheme and port"),
        ("allowed_hosts = [\"box.lan:8000\"]\n", "without scheme and port"),
        ("[limits]\nbody_bytes = 0\n", "2: `limits`: `body_bytes` must be at least 1"),
        ("[react]\nparallel = 2\nrounds = 0\n", "/etc/tg/proxy.toml:3: `react.rounds` must be at least 1"),
        ("[limits]\nconnections = 0\n", "`connections` must be at least 1"),
        ("[[backend]]\nkind = \"ollama\"\nheaders = { \"bad header\" = \"x\" }\n", "`bad header` is not the name of a header"),
        ("api_key_env = \"NOT_THERE\"\n", "NOT_THERE"),
        ("api_keys_file = \"not-there\"\n", "/etc/tg/not-there"),
        ("modes = [\"of\"]\n", "did you mean `off`?"),
        ("[[backend]]\nkind = \"openai\"\n", "needs a `url`"),
        ("[[backend]]\nkind = \"ollama\"\nurl = \"localhost:11434\"\n", "http://host:port"),
        ("[[backend]]\nkind = \"ollama\"\napi_key_env = \"NOT_THERE\"\n", "NOT_THERE"),
        ("[[backend]]\nkind = \"ollama\"\napi_key_file = \"not-there\"\n", "/etc/tg/not-there"),
        ("[[backend]]\nkind = \"ollama\"\napi_key_env = \"A_KEY\"\napi_key_file = \"x\"\n", "not in both"),
        ("[[backend]]\nkind = \"ollama\"\n[[backend]]\nkind = \"ollama\"\n", "two backends are named `ollama`"),
        ("[[backend]]\nkind = \"ollama\"\n[[route]]\nmodel = \"*\"\nbackend = \"olama\"\n", "did you mean `ollama`?"),
    ] {
        let message = parse(text).unwrap_err();
        assert!(message.contains(expected), "{text:?} gives {message:?}, expected {expected:?}");
    }
}

#[test]
fn a_command_names_every_file_but_the_users_own() {
    let environment = Environment::from([("HOME", "/h"), ("XDG_CONFIG_HOME", "/h/.config")]);
    let named = |file: Option<&Path>| Config::parse("", file, &Overrides::default(), &environment).unwrap().shell_config;
    assert_eq!((named(None), named(Some(&user_file(&environment)))), (None, None));
    assert_eq!(named(Some(Path::new("/etc/tg/proxy.toml"))), Some("/etc/tg/proxy.toml".into()));
}

#[test]
fn hosts_and_origins_that_exist_are_accepted() {
    for text in [
        "allowed_hosts = [\"box.lan\", \"my_box\", \"192.168.1.2\", \"fe80::1\", \"host.docker.internal\"]\n",
        "allowed_origins = [\"http://box.lan:3000/\", \"moz-extension://1b2c\", \"http://[::1]:3000\", \"null\"]\n",
    ] {
        assert!(parse(text).is_ok(), "{text}");
    }
}

#[test]
fn other_machines_need_a_key_or_a_word() {
    for (listen, more, is_open) in [
        ("127.0.0.1:8000", "", true),
        ("0.0.0.0:8000", "", false),
        ("192.168.1.2:8000", "insecure = false\n", false),
        ("[::]:8000", "insecure = true\n", true),
        ("0.0.0.0:8000", "api_key_env = \"A_KEY\"\n", true),
    ] {
        let text = format!("listen = \"{listen}\"\n{more}");
        let config = Config::parse(&text, None, &Overrides::default(), &Environment::from([("A_KEY", "s3cret")])).unwrap();
        let checked = config.check_exposure();
        assert_eq!(checked.is_ok(), is_open, "{text}");
        assert!(is_open || checked.unwrap_err().message.contains("api_keys_file"));
        let is_exposed = !listen.starts_with("127");
        assert_eq!(config.mcp.serving.registry_http, if is_exposed { RegistryHttp::Token } else { RegistryHttp::On });
    }
}

#[test]
fn a_key_may_be_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("proxy.toml");
    let key = |content: &str| {
        std::fs::write(folder.path().join("far.key"), content).unwrap();
        let text = "[[backend]]\nkind = \"ollama\"\napi_key_file = \"far.key\"\n";
        Config::parse(text, Some(&file), &Overrides::default(), &Environment::default())
    };
    let config = key("s3cret\n").unwrap();
    assert_eq!(config.backends[0].key.as_ref().map(Secret::reveal), Some("s3cret"));
    assert!(key(" \n").unwrap_err().message.contains("is empty"));
}

#[test]
fn the_command_line_goes_over_the_file() {
    let overrides = Overrides {
        listen: Some("localhost:9001".into()),
        backends: vec!["ollama=http://big:11434/".into(), "openai=http://other:1/v1".into()],
        ..Overrides::default()
    };
    let text = "listen = \"127.0.0.1:1\"\n[[backend]]\nkind = \"ollama\"\nurl = \"http://small:11434\"\n";
    let config = Config::parse(text, None, &overrides, &Environment::default()).unwrap();
    assert_eq!(config.listen, Listen::loopback(9001));
    let urls: Vec<&str> = config.backends.iter().map(|backend| backend.url.as_str()).collect();
    assert_eq!(urls, ["http://big:11434", "http://other:1/v1"]);

    // A bare address is found out by asking.
    let bare = Overrides { backends: vec!["http://big:11434".into()], ..Overrides::default() };
    assert_eq!(Config::parse("", None, &bare, &Environment::default()).unwrap().backends[0].kind, None);
}

#[test]
fn ollama_host_is_read_as_ollama_reads_it() {
    for (written, expected) in [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:1234", "http://127.0.0.1:1234"),
        (":5000", "http://127.0.0.1:5000"),
        ("big.lan", "http://big.lan:11434"),
        ("http://big.lan", "http://big.lan:80"),
        ("https://big.lan/ollama/", "https://big.lan:443/ollama"),
        ("[::1]", "http://[::1]:11434"),
        ("[::]:7", "http://[::1]:7"),
    ] {
        assert_eq!(Environment::from([("OLLAMA_HOST", written)]).ollama_url(), expected, "{written:?}");
    }
}

#[test]
fn globs_match_whole_names() {
    for (glob, name, expected) in [
        ("*", "", true),
        ("gem*", "Gem-3:4b", true),
        ("gem", "gem3", false),
        ("*coder*7b", "a-coder-b-coder:7b", true),
        ("a?c", "abc", true),
        ("a?c", "ac", false),
        ("a**b", "ab", true),
        ("*x", "yyz", false),
    ] {
        assert_eq!(matches(glob, name), expected, "{glob} {name}");
    }
}

#[test]
fn an_alias_is_read_in_both_directions() {
    let config =
        parse("[[alias]]\nname = \"grok/*\"\nmodel = \"*\"\n[[alias]]\nname = \"mine\"\nmodel = \"small:4b\"\n").unwrap();
    assert_eq!(config.own_name("grok/small:4b"), "small:4b");
    assert_eq!((config.own_name("mine").as_str(), config.own_name("other").as_str()), ("small:4b", "other"));
    assert_eq!(config.further_names("small:4b").collect::<Vec<_>>(), ["grok/small:4b", "mine"]);
    for wrong in ["name = \"grok/*\"\nmodel = \"x\"", "name = \"*-*\"\nmodel = \"*+*\"", "name = \"x\"\nmodel = \"x\""] {
        assert!(parse(&format!("[[alias]]\n{wrong}\n")).is_err(), "{wrong}");
    }
}

#[test]
fn a_backend_may_be_a_url_alone() {
    let config = parse("[[backend]]\nurl = \"http://box.lan:8080/v1/\"\n").unwrap();
    assert_eq!((config.backends[0].name.as_str(), config.backends[0].kind), ("box.lan:8080", None));
    let overrides =
        Overrides { backends: vec!["http://box.lan:1/".into(), "google=http://g.example/v1beta".into()], ..Overrides::default() };
    let config = Config::parse("", None, &overrides, &Environment::default()).unwrap();
    let kinds: Vec<_> = config.backends.iter().map(|backend| (backend.url.as_str(), backend.kind)).collect();
    assert_eq!(kinds, [("http://box.lan:1", None), ("http://g.example/v1beta", Some(Kind::Google))]);
    // Names of servers are no kinds of API: what they speak is asked.
    for name in ["vllm", "llamacpp", "llama.cpp", "LM-Studio", "mlx", "sglang"] {
        let config = parse(&format!("[[backend]]\nkind = \"{name}\"\nurl = \"http://box.lan:8080\"\n")).unwrap();
        assert_eq!((config.backends[0].kind, config.backends[0].url.as_str()), (None, "http://box.lan:8080"), "{name}");
    }
    let flag = Overrides { backends: vec!["vllm=http://box.lan:1".into()], ..Overrides::default() };
    let config = Config::parse("", None, &flag, &Environment::default()).unwrap();
    assert_eq!((config.backends[0].name.as_str(), config.backends[0].kind), ("vllm", None));
    assert!(parse("[[backend]]\nname = \"x\"\n").unwrap_err().contains("needs a `url`"));
}

#[test]
fn the_command_line_goes_before_the_variable_and_the_variable_before_the_file() {
    let environment = Environment::from([("HOME", "/home/u"), ("TOOLGLOT_LISTEN", ":9002")]);
    let listening = |flag: Option<&str>, environment: &Environment| {
        let overrides = Overrides { listen: flag.map(str::to_owned), ..Overrides::default() };
        let text = "listen = \":9003\"\n";
        Config::parse(text, Some(Path::new("/etc/tg/proxy.toml")), &overrides, environment).map(|config| config.listen.port())
    };
    assert_eq!(listening(Some(":9001"), &environment).unwrap(), 9001);
    assert_eq!(listening(None, &environment).unwrap(), 9002);
    assert_eq!(listening(None, &Environment::from([("HOME", "/home/u")])).unwrap(), 9003);
    let wrong = environment.with([("TOOLGLOT_LISTEN", "somewhere")]);
    assert!(listening(None, &wrong).unwrap_err().message.starts_with("`TOOLGLOT_LISTEN`: `somewhere` is not an address"));
}
