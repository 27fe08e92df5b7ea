//! A dashboard for Grafana: rows for the fleet, tenants, hubs and the engine, with links to the runbook.

mod panels;

use serde_json::{Value, json};

use super::alerts::{LISTS, SITE};

pub use panels::PANELS;

/// A row of the dashboard, by whom its panels are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DashboardRow {
    /// All claims, their waiting times and their end.
    Fleet,
    /// Claims of the selected tenants.
    Tenants,
    /// Clusters and controllers of hubs.
    Hub,
    /// The function and Crossplane.
    Engine,
}

impl DashboardRow {
    /// All rows, from the top down.
    pub const ALL: [Self; 4] = [Self::Fleet, Self::Tenants, Self::Hub, Self::Engine];

    /// Its title.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Fleet => "Fleet",
            Self::Tenants => "Tenants",
            Self::Hub => "Hub",
            Self::Engine => "Engine",
        }
    }
}

/// A panel of the dashboard.
#[derive(Clone, Copy, Debug)]
pub struct Panel {
    /// Its row.
    pub row: DashboardRow,
    /// Title.
    pub title: &'static str,
    /// Sentence about the values and their meaning.
    pub description: &'static str,
    /// Unit in Grafana's notation.
    pub unit: &'static str,
    /// Values at which the line becomes yellow and red, if there are good and bad ones.
    pub thresholds: Option<[f64; 2]>,
    /// The alert whose entry in the runbook says what to do.
    pub alert: Option<&'static str>,
    /// Expressions, each with the legend of its lines.
    pub queries: &'static [(&'static str, &'static str)],
}

/// The complete dashboard. The viewer selects data source, tenants and Konflux clusters.
pub fn build_dashboard() -> Value {
    let (mut panels, mut y) = (Vec::new(), 0);
    for row in DashboardRow::ALL {
        panels.push(json!({
            "id": panels.len() + 1,
            "type": "row",
            "title": row.title(),
            "collapsed": false,
            "gridPos": { "x": 0, "y": y, "w": 24, "h": 1 },
            "panels": [],
        }));
        y += 1;
        let of_row = PANELS.iter().filter(|panel| panel.row == row);
        for (index, panel) in of_row.clone().enumerate() {
            let place = json!({ "x": index % 2 * 12, "y": y + index / 2 * 8, "w": 12, "h": 8 });
            panels.push(panel.render_json(panels.len() + 1, &place));
        }
        y += of_row.count().div_ceil(2) * 8;
    }
    json!({
        "uid": "testplatform",
        "title": "Test Platform clusters",
        "tags": ["testplatform"],
        "schemaVersion": 39,
        "editable": false,
        "time": { "from": "now-24h", "to": "now" },
        "refresh": "1m",
        "templating": { "list": [
            { "name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus" },
            label_variable("tenant", "Tenant", "label_values(testplatform_cluster_phase, tenant)"),
            label_variable("cluster", "Konflux cluster", "label_values(testplatform_ephemeralclusters, konflux_cluster)"),
            { "name": "docs", "label": "Documentation", "type": "textbox", "query": SITE, "current": { "text": SITE, "value": SITE } },
        ] },
        "links": [{
            "title": "Runbook",
            "type": "link",
            "icon": "doc",
            "url": "${docs}/runbook/index.html",
            "targetBlank": true,
        }],
        "panels": panels,
    })
}

/// A variable with the values of a label, all of them at first.
fn label_variable(name: &str, label: &str, query: &str) -> Value {
    json!({
        "name": name,
        "label": label,
        "type": "query",
        "datasource": { "type": "prometheus", "uid": "${datasource}" },
        "query": { "query": query, "refId": "Variable" },
        "definition": query,
        "refresh": 2,
        "sort": 1,
        "multi": true,
        "includeAll": true,
        "allValue": ".*",
        "current": { "text": "All", "value": "$__all" },
    })
}

impl Panel {
    fn render_json(&self, id: usize, place: &Value) -> Value {
        let source = json!({ "type": "prometheus", "uid": "${datasource}" });
        let target = |(number, (expression, legend)): (usize, &(&str, &str))| json!({ "refId": format!("Q{number}"), "datasource": source, "expr": expression, "legendFormat": legend });
        let targets: Vec<Value> = self.queries.iter().enumerate().map(target).collect();
        let mut defaults = json!({ "unit": self.unit, "min": 0 });
        if let Some([warning, critical]) = self.thresholds {
            defaults["thresholds"] = json!({ "mode": "absolute", "steps": [
                { "color": "green", "value": null },
                { "color": "yellow", "value": warning },
                { "color": "red", "value": critical },
            ] });
            defaults["custom"] = json!({ "thresholdsStyle": { "mode": "line" } });
        }
        let alert = self.alert.and_then(|name| LISTS.into_iter().flatten().find(|alert| alert.name == name));
        let links: Vec<Value> = alert
            .iter()
            .map(|alert| {
                let title = format!("Runbook: {}", alert.name);
                json!({ "title": title, "url": format!("${{docs}}/{}", alert.entry()), "targetBlank": true })
            })
            .collect();
        json!({
            "id": id,
            "type": "timeseries",
            "title": self.title,
            "description": self.description,
            "datasource": source,
            "gridPos": place,
            "links": links,
            "fieldConfig": { "defaults": defaults, "overrides": [] },
            "targets": targets,
        })
    }
}
