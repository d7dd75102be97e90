import { ExtractionFailure, type ExtractedText } from '#domain/knowledge/ingestion/document-extractor.ts';
import type { Archive } from './archive.ts';
import { addParagraphs } from './headed-text.ts';
import { OpenDocumentReader } from './open-document-reader.ts';
import { cellRange, TableRows } from './table-rows.ts';
import { TextBuilder } from './text-builder.ts';
import { readXml } from './xml-reader.ts';

/** ODT by headings, ODS by sheets, ODP by slides. @throws `ExtractionFailure` encrypted */
export async function readOpenDocument(archive: Archive): Promise<ExtractedText> {
  if ((await archive.text('META-INF/manifest.xml')).includes('encryption-data')) {
    throw new ExtractionFailure('encrypted');
  }
  const builder = new TextBuilder();
  const reader = new OpenDocumentReader();
  readXml(await archive.text('content.xml'), reader);
  addParagraphs(builder, reader.paragraphs);
  for (const [index, { lines, title }] of reader.slides.entries()) {
    const page = index + 1;
    builder.add({ heading: title, page, anchor: `slide ${page}` }, lines.join('\n'));
  }
  for (const { name, rows } of reader.sheets) {
    const table = new TableRows({
      builder,
      heading: name,
      anchor: (_first, _last, all) => cellRange(name, all),
    });
    for (const row of rows) table.add(row);
    table.end();
  }
  return builder.build();
}
