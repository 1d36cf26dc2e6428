use super::{is_same_origin, parse};

#[test]
fn metadata_and_link_local_addresses_are_refused() {
    let refused = [
        "http://169.254.169.254/latest/meta-data",
        "http://[fe80::1]/mcp",
        "http://[::ffff:169.254.169.254]/",
        "http://[fd00:ec2::254]/",
        "http://[::169.254.169.254]/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://[64:ff9b:1::a9fe:a9fe]/",
        "http://[2002:a9fe:a9fe::]/",
        "http://[::ffff:0:a9fe:a9fe]/",
        "http://[2001:0:1::5601:5601]/",
        "http://[2a00::5efe:169.254.169.254]/",
        "http://192.0.0.192/",
        "http://[::ffff:192.0.0.192]/",
        "http://[64:ff9b::6464:64c8]/",
        "http://metadata.google.internal./x",
        "http://[fd20:ce::254]/",
        "http://[fd00:ec2::23]/",
        "http://[fd00:42::42]/",
        "http://168.63.129.16/",
        "http://[::ffff:168.63.129.16]/",
        "http://METADATA.goog./",
        "http://2852039166/",
        "http://0xa9fea9fe/",
        "ftp://example.org/",
        "file:///etc/passwd",
        "localhost:8080",
        "",
    ];
    for text in refused {
        assert!(parse(text).is_err(), "{text}");
    }
    for text in [
        "http://127.0.0.1:1/sse",
        "http://localhost/mcp",
        "https://mcp.example.org/x?y=1",
        "http://192.168.0.18:23016/sse",
        "http://[::1]:9/",
        "http://[::ffff:127.0.0.1]/",
        "http://[2a00:1450:4001::1]/",
    ] {
        assert!(parse(text).is_ok(), "{text}");
    }
}

#[test]
fn origins_are_scheme_host_and_port() {
    assert!(is_same_origin("http://a:1/x", "http://a:1/y"));
    assert!(is_same_origin("http://a/x", "http://A:80/y"));
    assert!(!is_same_origin("http://a:1/x", "http://a:2/x"));
    assert!(!is_same_origin("http://a/", "https://a/"));
    assert!(!is_same_origin("npx server", "http://a/"));
}
