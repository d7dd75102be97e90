import { z } from 'zod';
import { own } from '#domain/foundation/kernel/own.ts';
import { oneLine, plainText } from './rich-text.ts';
import { richText, type Property } from './value-wire.ts';

const named = z.object({ name: z.string().nullish() });
const date = z.object({ start: z.string(), end: z.string().nullish() });
const namesOf = (list: readonly z.output<typeof named>[]) =>
  list.flatMap(({ name }) => (name == null || name === '' ? [] : [name])).join(', ');
const dateText = ({ start, end }: z.output<typeof date>) => (end == null ? start : `${start} – ${end}`);

/** Empty values, and values of another form than documented, have no text. */
const reads =
  <T>(form: z.ZodType<T>, toText: (value: T) => string) =>
  (value: unknown): string => {
    const parsed = form.safeParse(value);
    return parsed.success ? toText(parsed.data) : '';
  };
const text = reads(z.string(), String);
const richTexts = reads(richText, plainText);
const name = reads(named, (value) => value.name ?? '');
const names = reads(z.array(named), namesOf);

const simple: readonly [type: string, toText: (value: unknown) => string][] = [
  ['title', richTexts],
  ['rich_text', richTexts],
  ['number', reads(z.number(), String)],
  ['select', name],
  ['status', name],
  ['multi_select', names],
  ['date', reads(date, dateText)],
  ['people', names],
  // Addresses of files are signed and expire.
  ['files', names],
  ['checkbox', reads(z.boolean(), (value) => (value ? 'yes' : 'no'))],
  ['url', text],
  ['email', text],
  ['phone_number', text],
  ['string', text],
  ['boolean', reads(z.boolean(), (value) => (value ? 'yes' : 'no'))],
  ['created_by', name],
  ['created_time', text],
  [
    'unique_id',
    reads(z.object({ prefix: z.string().nullish(), number: z.number() }), ({ prefix, number }) =>
      prefix == null ? String(number) : `${prefix}-${number}`,
    ),
  ],
  ['verification', reads(z.object({ state: z.string() }), ({ state }) => state)],
  [
    'place',
    reads(z.object({ name: z.string().nullish(), address: z.string().nullish() }), (place) =>
      [place.name, place.address].filter(Boolean).join(', '),
    ),
  ],
];
const simpleForms = new Map(simple);
const typed = z.looseObject({ type: z.string() });

/** Of a value that holds no other values. */
function simpleText(value: Property): string {
  return simpleForms.get(value.type)?.(own(value, value.type)) ?? '';
}

/** A formula, and a rollup of several values, hold values of one more level; a deeper one is not read. */
const innerText = reads(typed, simpleText);
const formulaText = innerText;
const rollupText = reads(typed, (value) =>
  value.type === 'array'
    ? reads(z.array(typed), (list) =>
        list
          .map((each) => (each.type === 'formula' ? formulaText(own(each, 'formula')) : simpleText(each)))
          .filter((each) => each !== '')
          .join(', '),
      )(own(value, 'array'))
    : simpleText(value),
);

/** The value of a property in one line; empty for what has no text, such as a relation. */
function propertyText(value: Property): string {
  const { type } = value;
  const nested = type === 'formula' ? formulaText : type === 'rollup' ? rollupText : null;
  return oneLine(nested === null ? simpleText(value) : nested(own(value, type)));
}

/** The properties of a page that have a text. */
export interface ShownProperties {
  title: string;
  /** In the order of their names: their order in a response means nothing. */
  facts: readonly (readonly [name: string, value: string])[];
}

export function shownProperties(properties: Readonly<Record<string, Property>>): ShownProperties {
  const title = Object.values(properties).find(({ type }) => type === 'title');
  const facts = Object.entries(properties)
    .filter(([, { type }]) => type !== 'title')
    .map(([name, value]): [string, string] => [name, propertyText(value)])
    .filter(([, value]) => value !== '')
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return { title: title === undefined ? '' : propertyText(title), facts };
}
