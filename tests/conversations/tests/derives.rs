//! Derives and attributes that `build.rs` adds to declared types.

use conversations::derived::Limits;
use conversations::derived::shop::{Item, Order, Stage, orders};
use duologue::Closed;

fn item(weight: Option<f64>) -> Item {
    Item {
        item_name: "lamp".to_owned(),
        tags: vec!["new".to_owned()],
        weight,
    }
}

#[test]
fn serde_writes_and_reads_declared_types() -> Result<(), serde_json::Error> {
    let order = Order {
        number: 7,
        items: vec![item(Some(1.5)), item(None)],
        stage: Stage::Paid {
            amount_in_cents: 300,
        },
    };
    let text = serde_json::to_string(&order)?;
    // Types of the package have names in camel case, and a weight that is not known is left out.
    let expected = r#"{"number":7,"items":[{"itemName":"lamp","tags":["new"],"weight":1.5},{"itemName":"lamp","tags":["new"]}],"stage":{"paid":{"amount_in_cents":300}}}"#;
    assert_eq!(text, expected);
    assert_eq!(serde_json::from_str::<Order>(&text)?, order);

    // Tags may be missing; other fields may not.
    let bare: Item = serde_json::from_str(r#"{"itemName":"lamp"}"#)?;
    assert_eq!((bare.tags, bare.weight), (Vec::new(), None));
    assert!(serde_json::from_str::<Item>(r#"{"tags":[]}"#).is_err());

    // The attribute of the package does not apply to other types.
    let limits = serde_json::to_string(&Limits {
        most_items: 1,
        most_orders: 2,
    })?;
    assert_eq!(limits, r#"{"most_items":1,"most_orders":2}"#);
    Ok(())
}

#[test]
fn a_variant_can_be_the_default() -> Result<(), Closed> {
    assert_eq!(Limits::default().most_items, 0);
    let (server, client) = orders::init();
    client.place(Order::default())?;
    let orders::Idle::Place(order) = server.recv()?;
    assert_eq!((order.number, order.stage), (0, Stage::New));
    Ok(())
}
