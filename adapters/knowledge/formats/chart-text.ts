import { plainNumber } from './plain-number.ts';
import { readXml } from './xml-reader.ts';

interface Series {
  name: string;
  categories: Map<number, string>;
  values: Map<number, string>;
}

/** The titles of a chart, and each series as a line of its categories and values. */
export function chartText(xml: string): string {
  const titles: string[] = [];
  const series: Series[] = [];
  let current: Series | null = null;
  let [title, part, index, text]: [string[], string, number, string[]] = [[], '', 0, []];
  readXml(xml, {
    open: (name, attributes) => {
      if (name === 'ser') series.push((current = { name: '', categories: new Map(), values: new Map() }));
      else if (parts.has(name)) part = name;
      else if (name === 'pt') index = Number(attributes().get('idx') ?? 0);
      text = [];
    },
    close: (name) => {
      const value = text.join('').trim();
      if (name === 'ser') current = null;
      else if (parts.has(name)) part = '';
      else if (name === 't') title.push(text.join(''));
      else if (name === 'p') {
        titles.push(title.join('').trim());
        title = [];
      } else if (name === 'v' && current !== null) {
        if (part === 'tx') current.name = value;
        else if (names.has(part)) current.categories.set(index, part === 'xVal' ? valueText(value) : value);
        else if (part !== '') current.values.set(index, valueText(value));
      }
      text = [];
    },
    text: (piece) => text.push(piece),
  });
  return [...titles, ...series.map(lineOf)].filter((line) => line !== '').join('\n');
}

/** Parts of a series: its name, its categories or horizontal places, its values. */
const names = new Set(['cat', 'xVal']);
const parts = new Set([...names, 'tx', 'val', 'yVal', 'bubbleSize']);

function lineOf({ name, categories, values }: Series): string {
  const places = [...new Set([...categories.keys(), ...values.keys()])];
  const points = places.map((place) => `${categories.get(place) ?? ''} ${values.get(place) ?? ''}`.trim());
  return [name, points.join('; ')].filter((each) => each !== '').join(': ');
}

function valueText(value: string): string {
  const number = Number(value);
  return value !== '' && Number.isFinite(number) ? plainNumber(number) : value;
}
