import { readXml } from './xml-reader.ts';

/** Open elements within one another; pages that people write have some dozens. */
const maxNested = 128;
/** Ends the reading: the rest of the page changes nothing. */
const tooDeep = new Error('The page is nested too deeply.');

/** Whether elements of a page are nested too deeply for readers whose time grows faster than the depth. */
export function isNestedDeeply(html: string): boolean {
  let depth = 0;
  const handler = {
    open: () => {
      depth += 1;
      if (depth > maxNested) throw tooDeep;
    },
    close: () => {
      depth -= 1;
    },
    text: () => undefined,
  };
  try {
    readXml(html, handler, true);
    return false;
  } catch (error) {
    if (error === tooDeep) return true;
    throw error;
  }
}
