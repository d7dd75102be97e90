import { ExtractionFailure, type ExtractedText } from '#domain/knowledge/ingestion/document-extractor.ts';
import type { Archive } from './archive.ts';
import { addParagraphs } from './headed-text.ts';
import { objectTexts, pageEdges } from './open-document-parts.ts';
import { OpenDocumentReader } from './open-document-reader.ts';
import { optionalPart } from './optional-part.ts';
import { cellRange, TableRows } from './table-rows.ts';
import { TextBuilder } from './text-builder.ts';
import { readXml } from './xml-reader.ts';

/** ODT by headings, ODS by sheets, ODP by slides. @throws `ExtractionFailure` encrypted */
export async function readOpenDocument(archive: Archive): Promise<ExtractedText> {
  if ((await archive.text('META-INF/manifest.xml')).includes('encryption-data')) {
    throw new ExtractionFailure('encrypted');
  }
  const builder = new TextBuilder();
  const reader = new OpenDocumentReader(await objectTexts(archive));
  readXml(await archive.text('content.xml'), reader);
  addParagraphs(builder, reader.paragraphs);
  if (reader.paragraphs.length > 0) {
    const styles = await archive.text('styles.xml');
    const edges = await optionalPart(async () => pageEdges(styles), { header: '', footer: '' });
    builder.add({ heading: null, page: null, anchor: 'header' }, edges.header);
    builder.add({ heading: null, page: null, anchor: 'comments' }, reader.comments.join('\n'));
    builder.add({ heading: null, page: null, anchor: 'footer' }, edges.footer);
  }
  for (const [index, { lines, title }] of reader.slides.entries()) {
    const page = index + 1;
    builder.add({ heading: title, page, anchor: `slide ${page}` }, lines.join('\n'));
  }
  for (const { name, rows, comments, drawings } of reader.sheets) {
    const table = new TableRows({
      builder,
      heading: name,
      anchor: (_first, _last, all) => cellRange(name, all),
    });
    for (const row of rows) table.add(row);
    table.end();
    builder.add({ heading: name, page: null, anchor: `${name} › comments` }, comments.join('\n'));
    builder.add({ heading: name, page: null, anchor: `${name} › drawings` }, drawings.join('\n'));
  }
  return builder.build();
}
