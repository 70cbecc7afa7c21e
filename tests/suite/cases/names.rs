//! Names: which may be equal, which clash, and what an entry without a name is called.

use super::{clean, entry_names, fires, says, with_payload};

#[test]
fn an_entry_without_a_type_is_a_type_without_a_name() {
    let declared =
        clean("type username = str;\nproto! p { s:send { login(username, password: str) -> ! } }");
    assert_eq!(entry_names(&declared), ["username", "password"]);
    let undeclared = fires(
        &with_payload("username, password: str"),
        &["undeclared-type"],
    );
    says(&undeclared, "username: str");
}

#[test]
fn an_entry_of_a_named_type_takes_its_name() {
    for declaration in [
        "type money = f64;",
        "struct money { cents: u64 }",
        "enum money { cash }",
        "extern type money;",
    ] {
        let compilation = clean(&format!("{declaration}\n{}", with_payload("money")));
        assert_eq!(entry_names(&compilation), ["money"], "{declaration}");
    }
}

#[test]
fn derived_names_are_numbered_where_they_collide() {
    let names = |payload: &str| {
        let text = format!(
            "type money = f64; type date = u32; {} proto! q {{ s:send {{ m([money], [date]) -> ! }} }}",
            with_payload(payload)
        );
        entry_names(&clean(&text)).join(" ")
    };
    assert_eq!(names("money, money"), "money_0 money_1");
    assert_eq!(names("money, date, money"), "money_0 date money_1");
    assert_eq!(names("u64"), "value");
    assert_eq!(names("u64, str"), "value_0 value_1");
    assert_eq!(names("[money]"), "value");
    assert_eq!(names("money?"), "value");
    assert_eq!(names("(money, date)"), "value");
    assert_eq!(names("money, [money]"), "money value");
}

#[test]
fn an_entry_of_parameter_type_is_a_value() {
    let compilation = clean("proto! p { s:send<T> { m(T) -> s<T>, end -> ! } }");
    assert_eq!(entry_names(&compilation), ["value"]);
}
