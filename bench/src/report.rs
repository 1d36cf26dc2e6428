//! Summarises outcomes as a table and as JSON, and recommends a way.

use std::fmt::Write;

use serde::Serialize;

use crate::{judge::Verdict, live::Outcome};

/// The figures of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    toolglot: &'static str,
    model: String,
    rows: Vec<Row>,
    groups: Vec<Group>,
    recommendation: Option<Recommendation>,
}

/// One form and way.
#[derive(Debug, Default, Serialize)]
struct Row {
    form: String,
    way: String,
    /// Tasks that were given.
    n: usize,
    right: usize,
    wrong: usize,
    missed: usize,
    errors: usize,
    /// Share of right ones in percent, with the bounds between which it is with a confidence of 95 percent.
    percent: [f64; 3],
    /// Answers in which the user saw the text of a call.
    shown: usize,
    /// Calls of names that are not offered.
    unknown: usize,
    /// Calls whose arguments do not fit the schema.
    invalid: usize,
    /// Times that the model was asked again, hidden from the client.
    again: u64,
    /// Tokens read and written per task, and seconds.
    read: u64,
    wrote: u64,
    seconds: f64,
}

/// One group of tasks in one form and way.
#[derive(Debug, Serialize)]
struct Group {
    form: String,
    way: String,
    group: String,
    n: usize,
    right: usize,
}

/// What to do.
#[derive(Debug, Serialize)]
struct Recommendation {
    /// The way that measured best over all forms.
    tools: String,
    /// What is chosen without a route, per form.
    by_itself: Vec<(String, String)>,
    /// How the best way compares with what is chosen without a route.
    route: Route,
}

/// Whether a route for the best way is worth its lines.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Route {
    /// The choice without a route is as good, within the bounds of the measurement.
    Needless,
    /// The best way measured better.
    Better,
    /// The choice without a route was not measured, so nothing is known.
    Unknown,
}

impl Report {
    /// `chosen`: the way that is chosen without a route, for each form.
    pub(crate) fn new(model: &str, outcomes: &[Outcome], chosen: &[(String, String)]) -> Report {
        let mut rows: Vec<Row> = Vec::new();
        let mut groups: Vec<Group> = Vec::new();
        for outcome in outcomes {
            let place = rows.iter().position(|row| (&row.form, &row.way) == (&outcome.form, &outcome.way)).unwrap_or_else(|| {
                rows.push(Row::of(outcome));
                rows.len() - 1
            });
            rows.get_mut(place).into_iter().for_each(|row| row.add(outcome));
            let name = outcome.task.split('/').next().unwrap_or_default();
            let is = |group: &Group| (&group.form, &group.way, group.group.as_str()) == (&outcome.form, &outcome.way, name);
            let place = groups.iter().position(is).unwrap_or_else(|| {
                let (form, way, group) = (outcome.form.clone(), outcome.way.clone(), name.to_owned());
                groups.push(Group { form, way, group, n: 0, right: 0 });
                groups.len() - 1
            });
            if let Some(group) = groups.get_mut(place) {
                group.n += 1;
                group.right += usize::from(outcome.verdict == Verdict::Right);
            }
        }
        rows.iter_mut().for_each(Row::finish);
        let recommendation = Recommendation::of(&rows, chosen);
        Report { toolglot: env!("CARGO_PKG_VERSION"), model: model.to_owned(), rows, groups, recommendation }
    }

    /// For people.
    pub(crate) fn table(&self) -> String {
        let mut out = format!("{} (toolglot {})\n\n", self.model, self.toolglot);
        let mut put = |line: std::fmt::Arguments<'_>| _ = out.write_fmt(line);
        put(format_args!(
            "{:8}{:10}{:>5}{:>8}{:>13}{:>7}{:>8}{:>7}{:>7}{:>9}{:>9}{:>7}{:>8}{:>8}\n",
            "form",
            "way",
            "n",
            "right",
            "95 %",
            "wrong",
            "missed",
            "shown",
            "error",
            "unknown",
            "invalid",
            "again",
            "tokens",
            "s/task"
        ));
        for row in &self.rows {
            let [percent, low, high] = row.percent;
            let bounds = format!("{low:.0}-{high:.0} %");
            let share = |count: usize| format!("{:.0} %", 100.0 * count as f64 / row.n.max(1) as f64);
            put(format_args!(
                "{:8}{:10}{:>5}{:>8}{:>13}{:>7}{:>8}{:>7}{:>7}{:>9}{:>9}{:>7}{:>8}{:>8.1}\n",
                row.form,
                row.way,
                row.n,
                format!("{percent:.0} %"),
                bounds,
                share(row.wrong),
                share(row.missed),
                row.shown,
                row.errors,
                row.unknown,
                row.invalid,
                row.again,
                row.read + row.wrote,
                row.seconds
            ));
        }
        put(format_args!("\n"));
        for row in &self.rows {
            let own = self.groups.iter().filter(|group| (&group.form, &group.way) == (&row.form, &row.way));
            let own: Vec<String> = own.map(|group| format!("{} {}/{}", group.group, group.right, group.n)).collect();
            put(format_args!("{:8}{:10}{}\n", row.form, row.way, own.join("  ")));
        }
        if let Some(recommendation) = &self.recommendation {
            put(format_args!("\n{}", recommendation.text(&self.model)));
        }
        out
    }
}

impl Row {
    fn of(outcome: &Outcome) -> Row {
        Row { form: outcome.form.clone(), way: outcome.way.clone(), ..Row::default() }
    }

    fn add(&mut self, outcome: &Outcome) {
        self.n += 1;
        match outcome.verdict {
            Verdict::Right => self.right += 1,
            Verdict::Wrong => self.wrong += 1,
            Verdict::Missed => self.missed += 1,
            Verdict::Error => self.errors += 1,
        }
        self.shown += usize::from(outcome.faults.shown);
        self.unknown += outcome.faults.unknown;
        self.invalid += outcome.faults.invalid;
        self.again += outcome.again;
        self.read += outcome.read;
        self.wrote += outcome.wrote;
        self.seconds += outcome.seconds;
    }

    fn finish(&mut self) {
        let n = self.n.max(1);
        self.percent = interval(self.right, n);
        self.read /= n as u64;
        self.wrote /= n as u64;
        self.seconds /= n as f64;
    }
}

/// A share in percent with Wilson's interval of 95 percent.
fn interval(right: usize, n: usize) -> [f64; 3] {
    const Z: f64 = 1.96;
    let (n, share) = (n as f64, right as f64 / n as f64);
    let middle = share + Z * Z / (2.0 * n);
    let spread = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let whole = 1.0 + Z * Z / n;
    [share, (middle - spread) / whole, (middle + spread) / whole].map(|part| 100.0 * part.clamp(0.0, 1.0))
}

impl Recommendation {
    /// The way with the most right answers over all forms; of equals the one with the fewest wrong ones. `None`: only the
    /// straight one was measured.
    fn of(rows: &[Row], chosen: &[(String, String)]) -> Option<Recommendation> {
        let mut sums: Vec<(&str, f64, f64)> = Vec::new();
        for row in rows.iter().filter(|row| row.way != "straight" && row.n > row.errors) {
            let n = row.n.max(1) as f64;
            let (right, wrong) = (row.right as f64 / n, row.wrong as f64 / n);
            match sums.iter_mut().find(|(way, ..)| *way == row.way) {
                Some((_, rights, wrongs)) => (*rights, *wrongs) = (*rights + right, *wrongs + wrong),
                None => sums.push((&row.way, right, wrong)),
            }
        }
        let better = |a: &&(&str, f64, f64), b: &&(&str, f64, f64)| a.1.total_cmp(&b.1).then(b.2.total_cmp(&a.2));
        let (tools, ..) = sums.iter().max_by(better)?;
        let row = |form: &str, way: &str| rows.iter().find(|row| (row.form.as_str(), row.way.as_str()) == (form, way));
        let own: Option<Vec<_>> = chosen.iter().map(|(form, way)| Some((row(form, way)?, row(form, tools)?))).collect();
        let route = match own {
            None => Route::Unknown,
            Some(pairs) if pairs.iter().all(|(own, best)| own.percent[2] >= best.percent[1]) => Route::Needless,
            Some(_) => Route::Better,
        };
        Some(Recommendation { tools: (*tools).to_owned(), by_itself: chosen.to_vec(), route })
    }

    fn text(&self, model: &str) -> String {
        let own: Vec<String> = self.by_itself.iter().map(|(form, way)| format!("{way} ({form})")).collect();
        let own = format!("By itself toolglot asks this model so: {}.", own.join(", "));
        let needed = match self.route {
            Route::Needless => "That is as good as the best way, within the bounds of this measurement; to fix the best one:",
            Route::Better => "Another way is better:",
            Route::Unknown => {
                "That was not measured in every form, so it cannot be compared. To fix the best of the measured ways:"
            }
        };
        format!("{own}\n{needed}\n\n[[route]]\nmodel = \"{model}\"\ntools = \"{}\"\n", self.tools)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes(way: &str, verdicts: &[(Verdict, usize)]) -> Vec<Outcome> {
        let outcome =
            |verdict| Outcome { form: "openai".into(), way: way.into(), task: "one/x".into(), verdict, ..Outcome::default() };
        verdicts.iter().flat_map(|(verdict, count)| std::iter::repeat_n(outcome(*verdict), *count)).collect()
    }

    #[test]
    fn the_best_way_is_recommended_and_the_own_choice_named() {
        let all = [
            outcomes("straight", &[(Verdict::Right, 40)]),
            outcomes("native", &[(Verdict::Right, 10), (Verdict::Missed, 30)]),
            outcomes("prompt", &[(Verdict::Right, 36), (Verdict::Wrong, 4)]),
        ]
        .concat();
        let chosen = [("openai".to_owned(), "native".to_owned())];
        let text = Report::new("m", &all, &chosen).table();
        assert!(text.contains("tools = \"prompt\"") && text.contains("Another way is better"), "{text}");
        assert!(text.contains("90 %") && text.contains("one 36/40"), "{text}");
        let few = [outcomes("native", &[(Verdict::Right, 3), (Verdict::Missed, 1)]), outcomes("prompt", &[(Verdict::Right, 4)])];
        let text = Report::new("m", &few.concat(), &chosen).table();
        assert!(text.contains("as good as the best way"), "{text}");
        let text = Report::new("m", &outcomes("prompt", &[(Verdict::Right, 4)]), &chosen).table();
        assert!(text.contains("was not measured") && !text.contains("better"), "{text}");
    }

    #[test]
    fn intervals_are_wilsons() {
        let [share, low, high] = interval(9, 10);
        assert!((share - 90.0).abs() < 0.1 && (low - 59.6).abs() < 0.1 && (high - 98.2).abs() < 0.1, "{low} {high}");
        assert_eq!(interval(0, 5)[0], 0.0);
    }
}
