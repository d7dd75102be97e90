import { createReadStream } from 'node:fs';
import { isSameHead, parseAnchor, type Anchor } from '#domain/foundation/events/anchor.ts';

/** A line has a few hundred characters; a file without line ends is no file of anchors. */
const maxLine = 65_536;

/**
 * Reads files of anchors, of one tenant or of all, line by line: together they may be larger than any string. Of
 * anchors that differ in their time only, the first and the last are retained, which tell all that the others do.
 * @returns the anchors of each tenant, in the order of their time
 */
export async function readAnchors(files: readonly string[], only?: string): Promise<Map<string, Anchor[]>> {
  const byTenant = new Map<string, Anchor[]>();
  for (const file of files) {
    let at = 0;
    for await (const line of linesOf(file)) {
      at += 1;
      const anchor = parseAnchor(line, at);
      if (anchor !== null && (only === undefined || anchor.tenant_id === only)) {
        const known = byTenant.get(anchor.tenant_id) ?? [];
        addAnchor(known, anchor);
        byTenant.set(anchor.tenant_id, known);
      }
    }
  }
  for (const anchors of byTenant.values()) anchors.sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
  return byTenant;
}

function addAnchor(known: Anchor[], anchor: Anchor): void {
  const [first, last] = known.slice(-2);
  const repeats =
    first !== undefined &&
    last !== undefined &&
    isSameHead(first, anchor) &&
    isSameHead(last, anchor) &&
    first.at <= last.at &&
    last.at <= anchor.at;
  if (repeats) known.pop();
  known.push(anchor);
}

/** Without the last line if it has no end: its writer may not be done. */
async function* linesOf(file: string): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of createReadStream(file, 'utf8') as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > maxLine) throw new Error(`${file} has a line that is too long for an anchor.`);
    yield* lines;
  }
}
