//! Rows on their way into a table, gathered by column: the engine takes whole vectors far faster than bound
//! parameters. A table hands its rows over every [`VECTOR_ROWS`]; values are pushed in the order of its columns.

use std::sync::Arc;

use duckdb::Appender;
use duckdb::arrow::array::{
    ArrayRef, BooleanBuilder, Decimal128Builder, Float64Builder, Int64Builder, StringBuilder,
    UInt8Builder, UInt32Builder, UInt64Builder,
};
use duckdb::arrow::datatypes::{DataType, Field, Schema};
use duckdb::arrow::record_batch::RecordBatch;

/// Rows of one engine vector.
pub const VECTOR_ROWS: usize = 2_048;

/// Type of a column.
#[derive(Clone, Copy)]
pub enum Type {
    U8,
    U32,
    U64,
    I64,
    F64,
    Bool,
    Text,
    /// DECIMAL(19, 4)
    Decimal,
}

enum Column {
    U8(UInt8Builder),
    U32(UInt32Builder),
    U64(UInt64Builder),
    I64(Int64Builder),
    F64(Float64Builder),
    Bool(BooleanBuilder),
    Text(StringBuilder),
    Decimal(Decimal128Builder),
}

impl Column {
    fn new(kind: Type) -> Self {
        match kind {
            Type::U8 => Self::U8(UInt8Builder::with_capacity(VECTOR_ROWS)),
            Type::U32 => Self::U32(UInt32Builder::with_capacity(VECTOR_ROWS)),
            Type::U64 => Self::U64(UInt64Builder::with_capacity(VECTOR_ROWS)),
            Type::I64 => Self::I64(Int64Builder::with_capacity(VECTOR_ROWS)),
            Type::F64 => Self::F64(Float64Builder::with_capacity(VECTOR_ROWS)),
            Type::Bool => Self::Bool(BooleanBuilder::with_capacity(VECTOR_ROWS)),
            Type::Text => Self::Text(StringBuilder::new()),
            Type::Decimal => Self::Decimal(decimal_builder()),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::U8(builder) => Arc::new(builder.finish()),
            Self::U32(builder) => Arc::new(builder.finish()),
            Self::U64(builder) => Arc::new(builder.finish()),
            Self::I64(builder) => Arc::new(builder.finish()),
            Self::F64(builder) => Arc::new(builder.finish()),
            Self::Bool(builder) => Arc::new(builder.finish()),
            Self::Text(builder) => Arc::new(builder.finish()),
            Self::Decimal(builder) => Arc::new(builder.finish()),
        }
    }
}

fn decimal_builder() -> Decimal128Builder {
    Decimal128Builder::with_capacity(VECTOR_ROWS).with_data_type(DataType::Decimal128(19, 4))
}

fn arrow_type(kind: Type) -> DataType {
    match kind {
        Type::U8 => DataType::UInt8,
        Type::U32 => DataType::UInt32,
        Type::U64 => DataType::UInt64,
        Type::I64 => DataType::Int64,
        Type::F64 => DataType::Float64,
        Type::Bool => DataType::Boolean,
        Type::Text => DataType::Utf8,
        Type::Decimal => DataType::Decimal128(19, 4),
    }
}

/// The rows of one table that were not handed over yet.
pub struct Table {
    pub name: &'static str,
    schema: Arc<Schema>,
    columns: Vec<Column>,
    next: usize,
    rows: usize,
}

impl Table {
    /// `types` are the columns of `facts.<name>` in order.
    pub fn new(name: &'static str, types: &[Type]) -> Self {
        let fields: Vec<Field> =
            types.iter().map(|kind| Field::new("c", arrow_type(*kind), true)).collect();
        Self {
            name,
            schema: Arc::new(Schema::new(fields)),
            columns: types.iter().map(|kind| Column::new(*kind)).collect(),
            next: 0,
            rows: 0,
        }
    }

    /// Forgets rows of a batch that failed.
    pub fn clear(&mut self) {
        for column in &mut self.columns {
            column.finish();
        }
        (self.next, self.rows) = (0, 0);
    }

    /// Ends a row; hands the rows over when a vector is full.
    pub fn end_row(&mut self, appender: &mut Appender<'_>) -> duckdb::Result<()> {
        assert_eq!(self.next, self.columns.len(), "a row of {} has every column", self.name);
        self.next = 0;
        self.rows += 1;
        if self.rows == VECTOR_ROWS { self.hand_over(appender) } else { Ok(()) }
    }

    /// Hands over what is left.
    pub fn hand_over(&mut self, appender: &mut Appender<'_>) -> duckdb::Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        self.rows = 0;
        let arrays = self.columns.iter_mut().map(Column::finish).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays)
            .expect("the builders were made from the schema");
        appender.append_record_batch(batch)
    }

    fn column(&mut self) -> &mut Column {
        let index = self.next;
        self.next += 1;
        &mut self.columns[index]
    }

    pub fn u8(&mut self, value: u8) -> &mut Self {
        match self.column() {
            Column::U8(builder) => builder.append_value(value),
            _ => wrong_type(),
        }
        self
    }

    pub fn u32(&mut self, value: u32) -> &mut Self {
        match self.column() {
            Column::U32(builder) => builder.append_value(value),
            _ => wrong_type(),
        }
        self
    }

    pub fn u64(&mut self, value: u64) -> &mut Self {
        match self.column() {
            Column::U64(builder) => builder.append_value(value),
            _ => wrong_type(),
        }
        self
    }

    pub fn i64(&mut self, value: Option<i64>) -> &mut Self {
        match self.column() {
            Column::I64(builder) => builder.append_option(value),
            _ => wrong_type(),
        }
        self
    }

    pub fn f64(&mut self, value: Option<f64>) -> &mut Self {
        match self.column() {
            Column::F64(builder) => builder.append_option(value),
            _ => wrong_type(),
        }
        self
    }

    pub fn bool(&mut self, value: bool) -> &mut Self {
        match self.column() {
            Column::Bool(builder) => builder.append_value(value),
            _ => wrong_type(),
        }
        self
    }

    pub fn text(&mut self, value: Option<&str>) -> &mut Self {
        match self.column() {
            Column::Text(builder) => builder.append_option(value),
            _ => wrong_type(),
        }
        self
    }

    pub fn decimal(&mut self, value_e4: Option<i128>) -> &mut Self {
        match self.column() {
            Column::Decimal(builder) => builder.append_option(value_e4),
            _ => wrong_type(),
        }
        self
    }
}

fn wrong_type() -> ! {
    panic!("a value was pushed into a column of another type")
}
