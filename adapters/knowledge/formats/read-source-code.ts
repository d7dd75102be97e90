import { chunkSize } from '#domain/knowledge/ingestion/chunk-text.ts';
import type { ExtractedText } from '#domain/knowledge/ingestion/document-extractor.ts';
import { rangeName, UnitGroup } from './group-units.ts';
import { TextBuilder } from './text-builder.ts';

/** A line that may begin a passage although no blank line precedes it. */
const definition =
  /^(?:export |public |private |static |async |default |abstract )*(?:function|class|def|fn|func|interface|struct|enum|impl|module|namespace|trait|type|sub|package)\b/;

/** Lines as they are, cut where a block that is not indented begins, at the latest when a passage is full. */
export function readSourceCode(text: string): ExtractedText {
  const builder = new TextBuilder();
  const group = new UnitGroup<number>({
    builder,
    anchor: (first, last) => rangeName('line', first, last),
  });
  let size = 0;
  let blank = false;
  for (const [index, line] of text.split(/\r\n|[\r\n]/).entries()) {
    const begins = (blank && /^\S/.test(line)) || definition.test(line);
    if (begins && size > chunkSize / 3) {
      group.end();
      size = 0;
    }
    group.add(line, index + 1);
    size += line.length + 1;
    blank = line.trim() === '';
  }
  group.end();
  return builder.build();
}

/** Whether a text without declared type is a program, by what its lines end with and begin with. */
export function looksLikeCode(text: string): boolean {
  const lines = text
    .slice(0, 16_384)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  if (lines[0]?.startsWith('#!') === true) {
    return true;
  }
  const code = lines.filter((line) =>
    /[;{}]$|^(?:\/\/|#include|import |from \S+ import|def |class |return\b|@\w)|[)\]]:$|=>|^<\?php/.test(
      line,
    ),
  );
  return lines.length >= 5 && code.length > lines.length * 0.5;
}
