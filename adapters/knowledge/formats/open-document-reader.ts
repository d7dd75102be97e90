import { CommentLines } from './comment-lines.ts';
import type { Paragraph } from './headed-text.ts';
import type { Row } from './table-rows.ts';
import type { XmlAttributes, XmlHandler } from './xml-reader.ts';

/** Columns that a repeated value fills at most. */
const maxRepeated = 256;
const maxColumns = 16_384;
const skipped = new Set([
  'tracked-changes',
  'forms',
  'desc',
  'note-citation',
  'dde-connections',
  'automatic-styles',
]);
const lines = new Set(['p', 'h']);

type Kind = 'text' | 'spreadsheet' | 'presentation';

interface Slide {
  title: string | null;
  lines: string[];
}

interface Sheet {
  name: string;
  rows: Row[];
  comments: string[];
  /** Text boxes and charts beside the cells. */
  drawings: string[];
}

/** Collects the paragraphs, slides and sheets of a `content.xml`. */
export class OpenDocumentReader implements XmlHandler {
  readonly paragraphs: Paragraph[] = [];
  readonly slides: Slide[] = [];
  readonly sheets: Sheet[] = [];
  /** Of a text. */
  readonly comments: string[] = [];
  /** Texts of embedded objects, by their name. */
  readonly #objects: ReadonlyMap<string, string>;
  #kind: Kind | null;
  #comment: CommentLines | null = null;
  #skipping = 0;
  /** Paragraphs that are open, and notes within them. */
  #open = 0;
  #text: string[] = [];
  #level = 0;
  #inTitle = false;
  #slide: Slide | null = null;
  #tables = 0;
  #sheet: Sheet | null = null;
  #row = 0;
  #rowsRepeated = 1;
  #cells: (string | undefined)[] = [];
  #column = 0;
  #cell: { text: string[]; repeated: number } | null = null;

  /** @param kind of content that does not say it, such as that of a chart */
  constructor(objects: ReadonlyMap<string, string>, kind: Kind | null = null) {
    this.#objects = objects;
    this.#kind = kind;
  }

  open(name: string, attributes: () => XmlAttributes): void {
    if (this.#comment !== null) {
      this.#comment.open(name);
      return;
    }
    if (skipped.has(name)) this.#skipping += 1;
    if (this.#skipping > 0) return;
    if (name === 'text' || name === 'spreadsheet' || name === 'presentation') this.#kind ??= name;
    if (this.#kind === null) return;
    if (lines.has(name)) {
      if (this.#open === 0) this.#level = name === 'h' ? Number(attributes().get('outline-level') ?? 1) : 0;
      else this.#text.push(' ');
      this.#open += 1;
    } else if (name === 's' && this.#open > 0) {
      this.#text.push(' '.repeat(Math.min(Number(attributes().get('c') ?? 1) || 1, 100)));
    } else if (name === 'tab') this.#text.push('\t');
    else if (name === 'line-break') this.#text.push('\n');
    else if (name === 'page' && this.#kind === 'presentation') this.#openSlide();
    else if (name === 'frame') this.#inTitle = attributes().get('class') === 'title';
    else if (name === 'annotation') this.#comment = new CommentLines();
    else if (name === 'object') this.#addObject(attributes().get('href') ?? '');
    else if (name === 'table') this.#openTable(attributes);
    else if (name === 'table-row') this.#openRow(attributes);
    else if (name === 'table-cell' || name === 'covered-table-cell') this.#openCell(attributes);
  }

  close(name: string): void {
    if (this.#comment !== null) {
      if (this.#comment.close(name)) this.#endComment(this.#comment);
      return;
    }
    if (skipped.has(name)) this.#skipping -= 1;
    else if (this.#skipping > 0 || this.#kind === null) return;
    else if (lines.has(name)) {
      this.#open -= 1;
      if (this.#open === 0) this.#endLine();
      else this.#text.push(' ');
    } else if (name === 'table') this.#closeTable();
    else if (name === 'table-row') this.#closeRow();
    else if (name === 'table-cell' || name === 'covered-table-cell') this.#closeCell();
    else if (name === 'page') this.#slide = null;
    else if (name === 'frame') this.#inTitle = false;
  }

  text(text: string): void {
    // White space is one blank, as in HTML; elements stand for further ones.
    if (this.#comment !== null) this.#comment.text(text);
    else if (this.#open > 0 && this.#skipping === 0) this.#text.push(text.replace(/[\t\n\r ]+/g, ' '));
  }

  #endLine(): void {
    const text = this.#text.join('');
    this.#text = [];
    if (this.#cell !== null) this.#cell.text.push(text);
    else if (this.#slide !== null) this.#addToSlide(this.#slide, text);
    else if (this.#sheet !== null) this.#sheet.drawings.push(text);
    else if (this.#kind === 'text') this.paragraphs.push({ text, level: this.#level });
  }

  #endComment({ lines: comment }: CommentLines): void {
    this.#comment = null;
    if (this.#slide !== null) for (const line of comment) this.#addToSlide(this.#slide, line);
    else (this.#sheet?.comments ?? this.comments).push(...comment);
  }

  #addObject(href: string): void {
    const text = this.#objects.get(href.replace(/^\.\//, '')) ?? '';
    if (text === '') return;
    if (this.#sheet !== null) this.#sheet.drawings.push(text);
    else if (this.#open > 0) this.#text.push(text.includes('\n') ? `\n${text}\n` : text);
    else if (this.#slide !== null) this.#addToSlide(this.#slide, text);
    else this.paragraphs.push({ text, level: 0 });
  }

  #openSlide(): void {
    this.#slide = { title: null, lines: [] };
    this.slides.push(this.#slide);
  }

  #addToSlide(slide: Slide, text: string): void {
    if (text.trim() === '') return;
    if (this.#inTitle) slide.title = slide.title === null ? text : `${slide.title} ${text}`;
    slide.lines.push(text);
  }

  #openTable(attributes: () => XmlAttributes): void {
    this.#tables += 1;
    if (this.#tables === 1 && this.#kind === 'spreadsheet') {
      this.#sheet = {
        name: attributes().get('name') ?? `Sheet${this.sheets.length + 1}`,
        rows: [],
        comments: [],
        drawings: [],
      };
      this.sheets.push(this.#sheet);
      this.#row = 0;
    }
  }

  #closeTable(): void {
    this.#tables -= 1;
    if (this.#tables === 0) this.#sheet = null;
  }

  #openRow(attributes: () => XmlAttributes): void {
    if (this.#tables !== 1) return;
    this.#rowsRepeated = Number(attributes().get('number-rows-repeated') ?? 1) || 1;
    [this.#cells, this.#column] = [[], 0];
  }

  #closeRow(): void {
    if (this.#tables !== 1) return;
    if (this.#sheet !== null) {
      // A repeated row is shown once: repetitions hold nothing new.
      this.#sheet.rows.push({ number: this.#row + 1, cells: this.#cells });
      this.#row += this.#rowsRepeated;
      return;
    }
    const text = this.#cells.map((cell) => cell ?? '').join('\t');
    if (this.#slide !== null) this.#addToSlide(this.#slide, text);
    else this.paragraphs.push({ text, level: 0 });
    this.#cells = [];
  }

  #openCell(attributes: () => XmlAttributes): void {
    if (this.#tables !== 1) return;
    this.#cell = { text: [], repeated: Number(attributes().get('number-columns-repeated') ?? 1) || 1 };
  }

  #closeCell(): void {
    if (this.#tables !== 1 || this.#cell === null) return;
    const { text, repeated } = this.#cell;
    const value = text.join('\n');
    if (value.trim() !== '') {
      for (let n = 0; n < Math.min(repeated, maxRepeated); n += 1) {
        if (this.#column + n < maxColumns) this.#cells[this.#column + n] = value;
      }
    }
    this.#column += repeated;
    this.#cell = null;
  }
}
