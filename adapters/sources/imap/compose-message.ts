import { createHash } from 'node:crypto';
import type { Body, Part } from './message-parts.ts';

const newline = '\r\n';
const containers = new Set(['multipart/mixed', 'multipart/alternative', 'multipart/related']);
const encodings = new Set(['7bit', '8bit', 'binary', 'base64', 'quoted-printable']);

/** A message with the headers and the text of another, without what is attached to that. */
export function composeMessage(
  headers: Buffer,
  body: Body | null,
  contents: ReadonlyMap<string, Buffer>,
): Buffer {
  const hash = createHash('sha256').update(headers);
  for (const content of contents.values()) hash.update(content);
  const boundary = hash.digest('hex').slice(0, 40);
  let containersSoFar = 0;
  const entity = (node: Body | null): Buffer[] => {
    if (node === null) {
      return [Buffer.from(`Content-Type: text/plain${newline}${newline}`)];
    }
    if (!('parts' in node)) {
      return [Buffer.from(partHeaders(node)), contents.get(node.section) ?? Buffer.alloc(0)];
    }
    containersSoFar += 1;
    const own = `=_${boundary}.${containersSoFar}`;
    const mediaType = containers.has(node.mediaType) ? node.mediaType : 'multipart/mixed';
    const head = `Content-Type: ${mediaType}; boundary="${own}"${newline}${newline}`;
    const parts = node.parts.flatMap((part) => [
      Buffer.from(`--${own}${newline}`),
      ...entity(part),
      Buffer.from(newline),
    ]);
    return [Buffer.from(head), ...parts, Buffer.from(`--${own}--${newline}`)];
  };
  const head = Buffer.from(`${ownHeaders(headers)}MIME-Version: 1.0${newline}`, 'latin1');
  return Buffer.concat([head, ...entity(body)]);
}

/** Headers that do not describe the content, which is another one. */
function ownHeaders(headers: Buffer): string {
  return headers
    .toString('latin1')
    .split(/\r?\n(?![ \t])/)
    .filter((line) => line.trim() !== '' && !/^(content-|mime-version[ \t]*:)/i.test(line))
    .map((line) => `${line}${newline}`)
    .join('');
}

/** Values come from the message: they are written only in the form of a token. */
function partHeaders({ mediaType, encoding, parameters }: Part): string {
  const values = ['charset', 'format', 'delsp']
    .map((name) => ({ name, value: parameters.get(name) ?? '' }))
    .filter(({ value }) => /^[\w.:+-]{1,60}$/.test(value))
    .map(({ name, value }) => `; ${name}="${value}"`);
  const transfer = encodings.has(encoding) ? `Content-Transfer-Encoding: ${encoding}${newline}` : '';
  return `Content-Type: ${mediaType}${values.join('')}${newline}${transfer}${newline}`;
}
