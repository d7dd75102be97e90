import { HeadingTrail } from './heading-trail.ts';
import type { TextBuilder } from './text-builder.ts';

export interface Paragraph {
  text: string;
  /** 1 for the outermost headings, 0 for text that is none. */
  level: number;
}

/** Adds paragraphs in sections, each under its trail of headings. `anchor` replaces that of the headings. */
export function addParagraphs(
  builder: TextBuilder,
  paragraphs: readonly Paragraph[],
  anchor: string | null = null,
): void {
  const trail = new HeadingTrail();
  let body: string[] = [];
  /** The last heading, while no text is below it. */
  let bare: Paragraph | null = null;
  const end = (nextLevel: number) => {
    // A heading with neither text nor headings below it would be lost.
    if (bare !== null && nextLevel <= bare.level) body.push(bare.text);
    builder.add({ heading: trail.path, page: null, anchor: anchor ?? trail.anchor }, body.join('\n'));
    [body, bare] = [[], null];
  };
  for (const paragraph of paragraphs) {
    const text = paragraph.text.trim();
    if (text === '') continue;
    if (paragraph.level > 0) {
      end(paragraph.level);
      trail.enter(paragraph.level, text);
      bare = { text, level: paragraph.level };
    } else {
      body.push(paragraph.text);
      bare = null;
    }
  }
  end(0);
}
