//! What a run left behind.

use crate::brute::Tables;
use datafusion::arrow::array::{Array, Decimal128Array, Float64Array, Int64Array, StringArray};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::path::Path;

/// Every file below a folder, by its path in it, ascending.
pub fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&next) else { continue };
        for entry in entries {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else {
                let inside = path.strip_prefix(folder).expect("inside");
                found.push(inside.to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found
}

/// The rows of every table of a history that counts.
pub fn tables(out: &Path) -> Tables {
    let mut all = Tables::new();
    for name in files(out) {
        let (_, inside) = name.split_once("v1/").expect("the version of the layout");
        let parts: Vec<&str> = inside.split('/').collect();
        let [table, partition, file] = parts[..] else {
            panic!("{name} is in no folder of a day");
        };
        if !file.ends_with(".parquet") {
            continue;
        }
        let (_, partition) = partition.split_once('=').expect("a partition");
        let rows = all.entry(table.to_owned()).or_default();
        for mut cells in rows_of(&out.join(&name)) {
            cells.push(partition.to_owned());
            rows.push(cells);
        }
    }
    for rows in all.values_mut() {
        rows.sort();
    }
    all
}

/// The rows of a file, each as its cells.
pub fn rows_of(path: &Path) -> Vec<Vec<String>> {
    let file = File::open(path).expect("a file");
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("Parquet");
    let mut rows = Vec::new();
    for batch in reader.build().expect("a reader") {
        let batch = batch.expect("rows");
        for row in 0..batch.num_rows() {
            let cells = batch.columns().iter().map(|column| cell(column, row));
            rows.push(cells.collect());
        }
    }
    rows
}

fn cell(column: &dyn Array, row: usize) -> String {
    if column.is_null(row) {
        return "null".to_owned();
    }
    let any = column.as_any();
    if let Some(texts) = any.downcast_ref::<StringArray>() {
        texts.value(row).to_owned()
    } else if let Some(numbers) = any.downcast_ref::<Int64Array>() {
        numbers.value(row).to_string()
    } else if let Some(numbers) = any.downcast_ref::<Float64Array>() {
        // -0.0 is 0.
        format!("{:?}", numbers.value(row) + 0.0)
    } else if let Some(amounts) = any.downcast_ref::<Decimal128Array>() {
        amounts.value_as_string(row)
    } else {
        panic!("a column of {}", column.data_type())
    }
}
