//! The median of answers of the same shape, number by number.

use serde_json::{Map, Number, Value};

/// The median of each number in `answers`.
///
/// `null` stands for a number beyond every other, such as the time of what never came. Where the answers differ in
/// shape the first one decides.
pub fn of(answers: &[Value]) -> Value {
    match answers.first() {
        Some(Value::Object(first)) => {
            let fields = first.keys().map(|key| {
                let values: Vec<Value> = answers.iter().map(|answer| answer[key].clone()).collect();
                (key.clone(), of(&values))
            });
            Value::Object(fields.collect::<Map<_, _>>())
        }
        Some(Value::Number(_) | Value::Null) => of_numbers(answers),
        Some(other) => other.clone(),
        None => Value::Null,
    }
}

fn of_numbers(answers: &[Value]) -> Value {
    let mut numbers: Vec<f64> = answers
        .iter()
        .map(|answer| answer.as_f64().unwrap_or(f64::INFINITY))
        .collect();
    numbers.sort_by(f64::total_cmp);
    let (low, high) = (numbers[(numbers.len() - 1) / 2], numbers[numbers.len() / 2]);
    let middle = if low == high { low } else { (low + high) / 2.0 };
    Number::from_f64(middle).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_number_has_its_median() {
        let answers = [
            json!({"a": 1, "b": {"c": 5}, "n": "x"}),
            json!({"a": 3, "b": {"c": 6}, "n": "x"}),
            json!({"a": 2, "b": {"c": 9}, "n": "x"}),
        ];
        assert_eq!(of(&answers), json!({"a": 2.0, "b": {"c": 6.0}, "n": "x"}));
    }

    #[test]
    fn never_is_later_than_any_time() {
        assert_eq!(of(&[json!(null), json!(1), json!(2)]), json!(2.0));
        assert_eq!(of(&[json!(null), json!(1), json!(null)]), json!(null));
        assert_eq!(of(&[json!(null), json!(1)]), json!(null));
    }
}
