//! The form for other engines: Parquet with the same columns as the text forms, ids as texts, times as UTC timestamps,
//! properties as JSON texts, compressed with zstd.
//!
//! What must stay true: a row group is written out when it has grown to `limits::EXPORT_GROUP_BYTES`, so that memory
//! holds no more of the file than that and the file's list of groups, a few kilobytes each. The file can be read only
//! when it has come to its end, which is where Parquet keeps that list.

use std::sync::Arc;

use anyhow::Result;
use arrow_array::builder::{
    Float64Builder, Int64Builder, StringBuilder, TimestampMillisecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use super::columns::{COLUMNS, Cell, Kind};
use super::stream::Encoder;
use crate::limits;
use crate::store::question::Row;

const UTC: &str = "UTC";

/// A file that is written from its beginning.
pub struct Parquet {
    schema: SchemaRef,
    /// One for each column; they are emptied into the writer with every piece.
    builders: Vec<Builder>,
    writer: ArrowWriter<Vec<u8>>,
}

enum Builder {
    Text(StringBuilder),
    Integer(Int64Builder),
    Number(Float64Builder),
    Time(TimestampMillisecondBuilder),
}

impl Builder {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Id | Kind::Text | Kind::Json => Self::Text(StringBuilder::new()),
            Kind::Integer => Self::Integer(Int64Builder::new()),
            Kind::Number => Self::Number(Float64Builder::new()),
            Kind::Time => Self::Time(TimestampMillisecondBuilder::new().with_timezone(UTC)),
        }
    }

    fn add(&mut self, row: &Row<'_>, column: usize, kind: Kind) -> Result<()> {
        match self {
            Self::Time(times) => times.append_option(row.optional_integer(column)?),
            Self::Integer(numbers) => numbers.append_option(row.optional_integer(column)?),
            Self::Number(numbers) => numbers.append_option(row.optional_number(column)?),
            Self::Text(texts) => match Cell::read(row, column, kind)? {
                Cell::Text(text) | Cell::Json(text) => texts.append_value(text),
                _ => texts.append_null(),
            },
        }
        Ok(())
    }

    fn take(&mut self) -> ArrayRef {
        match self {
            Self::Text(texts) => Arc::new(texts.finish()),
            Self::Integer(numbers) => Arc::new(numbers.finish()),
            Self::Number(numbers) => Arc::new(numbers.finish()),
            Self::Time(times) => Arc::new(times.finish()),
        }
    }
}

impl Parquet {
    /// A file without rows yet.
    ///
    /// # Errors
    /// Never in practice: the columns are our own and memory takes everything.
    pub fn new() -> Result<Self> {
        let fields: Vec<Field> = COLUMNS
            .iter()
            .map(|(name, kind)| {
                let (data_type, optional) = match kind {
                    Kind::Id => (DataType::Utf8, false),
                    Kind::Text | Kind::Json => (DataType::Utf8, true),
                    Kind::Integer => (DataType::Int64, false),
                    Kind::Number => (DataType::Float64, true),
                    Kind::Time => {
                        (DataType::Timestamp(TimeUnit::Millisecond, Some(UTC.into())), false)
                    }
                };
                Field::new(*name, data_type, optional)
            })
            .collect();
        let schema = Arc::new(Schema::new(fields));
        let properties = WriterProperties::builder()
            .set_created_by(concat!("sumimi ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_dictionary_page_size_limit(limits::EXPORT_PAGE_BYTES)
            .set_data_page_size_limit(limits::EXPORT_PAGE_BYTES)
            .build();
        let writer = ArrowWriter::try_new(Vec::new(), Arc::clone(&schema), Some(properties))?;
        let builders = COLUMNS.iter().map(|(_, kind)| Builder::new(*kind)).collect();
        Ok(Self { schema, builders, writer })
    }

    /// Puts the rows of the piece into the group.
    fn pass_on(&mut self) -> Result<()> {
        let columns = self.builders.iter_mut().map(Builder::take).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)?;
        if batch.num_rows() > 0 {
            self.writer.write(&batch)?;
        }
        Ok(())
    }
}

impl Encoder for Parquet {
    fn row(&mut self, row: &Row<'_>) -> Result<()> {
        let columns = self.builders.iter_mut().zip(COLUMNS).enumerate();
        for (column, (builder, (_, kind))) in columns {
            builder.add(row, column, kind)?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        self.pass_on()?;
        self.writer.finish()?;
        Ok(())
    }

    fn take(&mut self) -> Result<Vec<u8>> {
        self.pass_on()?;
        if self.writer.memory_size() > limits::EXPORT_GROUP_BYTES {
            self.writer.flush()?;
        }
        Ok(std::mem::take(self.writer.inner_mut()))
    }
}
