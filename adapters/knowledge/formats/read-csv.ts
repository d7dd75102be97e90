import { parse } from 'csv-parse';
import type { DocumentMediaType } from '#domain/knowledge/collections/document-status.ts';
import type { ExtractedText } from '#domain/knowledge/ingestion/document-extractor.ts';
import { rangeName } from './group-units.ts';
import { TableRows } from './table-rows.ts';
import { TextBuilder } from './text-builder.ts';

const delimiters = [',', ';', '\t', '|'];
const sampleLines = 20;
/** Lines that are read for them: comments may come first. */
const maxSampled = 200;
/** Characters of one record: an unclosed quote must not take the whole file for one. */
const maxRecord = 1_000_000;

/** Rows, each with the names of its columns; the first row with several cells is the header. */
export async function readCsv(text: string, delimiter: string): Promise<ExtractedText> {
  const builder = new TextBuilder();
  const rows = new TableRows(
    { builder, anchor: (first, last) => rangeName('row', first.number, last.number) },
    true,
  );
  const records = parse(text, {
    delimiter,
    bom: true,
    relax_quotes: true,
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: maxRecord,
  }) as AsyncIterable<string[]>;
  let number = 0;
  for await (const cells of records) {
    number += 1;
    rows.add({ number, cells });
  }
  rows.end();
  return builder.build();
}

/** The delimiter that the first lines have most often; a tab, if they have any and were declared to be TSV. */
export function likelyDelimiter(text: string, declared: DocumentMediaType): string {
  const sample = firstLines(text).join('\n');
  if (declared === 'text/tab-separated-values' && sample.includes('\t')) {
    return '\t';
  }
  const counts = delimiters.map((delimiter) => sample.split(delimiter).length);
  return delimiters[counts.indexOf(Math.max(...counts))] ?? ',';
}

/** Whether all first lines have the same number of fields, and enough of them to be no prose. */
export function looksLikeTable(text: string): boolean {
  const lines = firstLines(text);
  return delimiters.some((delimiter) => {
    const [first = 0, ...rest] = lines.map((line) => unquoted(line).split(delimiter).length);
    const min = delimiter === ',' ? 3 : 2;
    return lines.length >= 3 && first >= min && rest.every((fields) => fields === first);
  });
}

function firstLines(text: string): string[] {
  const lines = text.slice(0, 65_536).split(/\r\n|[\r\n]/);
  return lines
    .slice(0, maxSampled)
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .slice(0, sampleLines);
}

/** A line without its quoted fields. */
const unquoted = (line: string): string =>
  line
    .split('"')
    .filter((_, index) => index % 2 === 0)
    .join('');
