import { listLevel } from './docx-numbering.ts';
import { readXml } from './xml-reader.ts';

/** What a style says of its paragraphs. */
export interface DocxStyle {
  /** Of a heading, 1 for the outermost ones; 0 for other text. */
  level: number;
  list: { id: string; level: number | null } | null;
  basedOn: string | null;
  /** Whether it shows the first row of a table in its own way. */
  hasHead: boolean;
}

/** Styles that are based on each other. */
const maxChain = 20;

export function readDocxStyles(xml: string): ReadonlyMap<string, DocxStyle> {
  const styles = new Map<string, DocxStyle>();
  let style: DocxStyle | null = null;
  let index: number | null = null;
  readXml(xml, {
    open: (name, attributes) => {
      const value = () => attributes().get('val') ?? '';
      if (name === 'style') {
        style = { level: 0, list: null, basedOn: null, hasHead: false };
        index = null;
        styles.set(attributes().get('styleId') ?? '', style);
      } else if (style === null) {
        return;
      } else if (name === 'name') {
        const [, number] = /^heading ([1-9])$/i.exec(value()) ?? [];
        if (number !== undefined) style.level = Number(number);
        if (/^title$/i.test(value())) style.level = 1;
      } else if (name === 'outlineLvl' && Number(value()) < 9) style.level = Number(value()) + 1;
      else if (name === 'basedOn') style.basedOn = value();
      else if (name === 'ilvl') index = listLevel(value());
      else if (name === 'tblStylePr') style.hasHead ||= attributes().get('type') === 'firstRow';
      else if (name === 'numId') style.list = { id: value(), level: index };
    },
    close: (name) => {
      if (name === 'style') style = null;
    },
    text: () => {},
  });
  return styles;
}

/** The list of a style's paragraphs, its own or that of the style on which it is based. */
export function listOfStyle(styles: ReadonlyMap<string, DocxStyle>, id: string): DocxStyle['list'] {
  return chainOf(styles, id).find(({ list }) => list !== null)?.list ?? null;
}

/** Whether a style of tables, or one on which it is based, shows the first row in its own way. */
export const isHeadStyle = (styles: ReadonlyMap<string, DocxStyle>, id: string): boolean =>
  chainOf(styles, id).some(({ hasHead }) => hasHead);

/** A style and those on which it is based. */
function chainOf(styles: ReadonlyMap<string, DocxStyle>, id: string): DocxStyle[] {
  const chain: DocxStyle[] = [];
  let style = styles.get(id);
  while (style !== undefined && chain.length < maxChain) {
    chain.push(style);
    style = styles.get(style.basedOn ?? '');
  }
  return chain;
}
