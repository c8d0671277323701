// SPDX-License-Identifier: GPL-2.0

use crate::logic::{
    measure::loss::{
        Arrived,
        LossFigures, //
    },
    spec::service::Service,
    text::json::Object, //
};

const FIGURES: LossFigures = LossFigures {
    service: Service::Ud,
    sent: 10,
    arrived: Some(Arrived {
        messages: 7,
        late: 2,
        repeated: 4,
    }),
    foreign: 5,
    unanswered: 1,
};

fn written(figures: &LossFigures) -> String {
    let mut text = String::new();
    let mut object = Object::new(&mut text).unwrap();
    figures.write(&mut object).unwrap();
    object.finish().unwrap();
    text
}

#[test]
fn what_did_not_arrive_is_lost() {
    assert_eq!(
        written(&FIGURES),
        concat!(
            r#"{"loss":{"sent":10,"arrived":7,"lost":3,"late":2,"repeated":4,"#,
            r#""foreign":5,"unanswered":1}}"#
        )
    );
}

#[test]
fn nothing_is_said_of_what_nobody_notices() {
    let figures = LossFigures {
        arrived: None,
        ..FIGURES
    };
    assert_eq!(
        written(&figures),
        r#"{"loss":{"sent":10,"foreign":5,"unanswered":1}}"#
    );
}

#[test]
fn queue_pairs_add_up() {
    let text = written(&FIGURES.and(&FIGURES));
    assert_eq!(
        text,
        concat!(
            r#"{"loss":{"sent":20,"arrived":14,"lost":6,"late":4,"repeated":8,"#,
            r#""foreign":10,"unanswered":2}}"#
        )
    );
    let unknown = LossFigures {
        arrived: None,
        ..FIGURES
    };
    assert_eq!(FIGURES.and(&unknown).arrived, None);
}
