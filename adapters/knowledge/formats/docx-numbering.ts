import { readXml } from './xml-reader.ts';

interface Level {
  start: number;
  format: string;
  /** `%1.%2` stands for the numbers of the outermost and the next level. */
  text: string;
}

interface AbstractList {
  levels: Map<number, Level>;
  /** The level of the paragraphs of a style. */
  byStyle: Map<string, number>;
}

interface List {
  abstract: string;
  /** Where it begins once more, by level. */
  restarts: Map<number, number>;
}

/** Levels of a list. */
const maxLevels = 9;
/** Of the text of a level, which each of its paragraphs repeats. */
const maxText = 100;

/** The level of a list that an attribute names; null: none. */
export function listLevel(value: string): number | null {
  return /^[0-8]$/.test(value) ? Number(value) : null;
}

/** The numbers that Word shows before paragraphs, counted in the order of the document. Bullets are left out. */
export class DocxNumbering {
  readonly #abstracts = new Map<string, AbstractList>();
  readonly #lists = new Map<string, List>();
  readonly #counters = new Map<string, number[]>();
  readonly #begun = new Set<string>();

  constructor(numbering: string) {
    let abstract: AbstractList = { levels: new Map(), byStyle: new Map() };
    let list: List | null = null;
    let index: number | null = null;
    let level: Level | null = null;
    readXml(numbering, {
      open: (name, attributes) => {
        const value = () => attributes().get('val') ?? '';
        if (name === 'abstractNum') {
          abstract = { levels: new Map(), byStyle: new Map() };
          this.#abstracts.set(attributes().get('abstractNumId') ?? '', abstract);
        } else if (name === 'num') {
          list = { abstract: '', restarts: new Map() };
          this.#lists.set(attributes().get('numId') ?? '', list);
        } else if (name === 'abstractNumId' && list !== null) list.abstract = value();
        else if (name === 'lvlOverride' || name === 'lvl') index = listLevel(attributes().get('ilvl') ?? '0');
        if (index === null) return;
        if (name === 'lvl' && list === null) {
          level = { start: 1, format: 'decimal', text: '' };
          abstract.levels.set(index, level);
        } else if (name === 'startOverride') list?.restarts.set(index, startOf(value()));
        else if (level !== null) {
          if (name === 'start') level.start = startOf(value());
          else if (name === 'numFmt') level.format = value();
          else if (name === 'lvlText') level.text = value().slice(0, maxText);
          else if (name === 'pStyle') abstract.byStyle.set(value(), index);
        }
      },
      close: (name) => {
        if (name === 'lvl') level = null;
        if (name === 'num') list = null;
      },
      text: () => {},
    });
  }

  /** The level that a list has for paragraphs of a style; 0 where it names none. */
  levelOf(list: string, style: string): number {
    return this.#abstracts.get(this.#lists.get(list)?.abstract ?? '')?.byStyle.get(style) ?? 0;
  }

  /** The number of the next paragraph of this list and level, such as `4.2` or `(a)`; '' for a bullet. */
  next(list: string, index: number): string {
    const { abstract, restarts } = this.#lists.get(list) ?? {};
    const levels = this.#abstracts.get(abstract ?? '')?.levels;
    const level = levels?.get(index);
    if (abstract === undefined || restarts === undefined || levels === undefined || level === undefined)
      return '';
    const first = (at: number) => levels.get(at)?.start ?? 1;
    const counters = this.#counters.get(abstract) ?? [];
    const restart = this.#begun.has(`${list}/${index}`) ? undefined : restarts.get(index);
    this.#begun.add(`${list}/${index}`);
    counters[index] = restart ?? (counters[index] === undefined ? first(index) : counters[index] + 1);
    for (let outer = 0; outer < index; outer += 1) counters[outer] ??= first(outer);
    counters.length = Math.min(index + 1, maxLevels);
    this.#counters.set(abstract, counters);
    if (level.format === 'bullet' || level.format === 'none') return '';
    return level.text.replace(/%([1-9])/g, (_, digit: string) => {
      const at = Number(digit) - 1;
      return formatted(counters[at] ?? first(at), levels.get(at)?.format ?? 'decimal');
    });
  }
}

/** Of the number of a list's first paragraph. */
function startOf(value: string): number {
  return /^\d{1,9}$/.test(value) ? Number(value) : 1;
}

function formatted(number: number, format: string): string {
  if (format === 'lowerLetter' || format === 'upperLetter') {
    const letter = String.fromCharCode(97 + ((Math.max(number, 1) - 1) % 26));
    const letters = letter.repeat(Math.min(Math.ceil(Math.max(number, 1) / 26), 10));
    return format === 'lowerLetter' ? letters : letters.toUpperCase();
  }
  if (format === 'lowerRoman') return roman(number).toLowerCase();
  if (format === 'upperRoman') return roman(number);
  return format === 'decimalZero' ? String(number).padStart(2, '0') : String(number);
}

const romans = [
  [1_000, 'M'],
  [900, 'CM'],
  [500, 'D'],
  [400, 'CD'],
  [100, 'C'],
  [90, 'XC'],
  [50, 'L'],
  [40, 'XL'],
  [10, 'X'],
  [9, 'IX'],
  [5, 'V'],
  [4, 'IV'],
  [1, 'I'],
] as const;

function roman(number: number): string {
  let [rest, text] = [Math.min(number, 3_999), ''];
  for (const [value, letters] of romans) {
    for (; rest >= value; rest -= value) text += letters;
  }
  return text;
}
