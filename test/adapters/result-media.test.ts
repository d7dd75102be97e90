import { expect, it } from 'vitest';
import { SecretRemover } from '#adapters/egress/secret-remover.ts';
import { readResult } from '#adapters/tools/tool-result.ts';

const secret = 'sk-wombat-7f3e9b';
const remover = new SecretRemover([`Bearer ${secret}`]);
const png = (...parts: (string | Buffer)[]) =>
  Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1A\n', 'latin1'),
    ...parts.map((part) => Buffer.from(part as string)),
  ]);
const wav = (text: string) => Buffer.from(`RIFF\x24\0\0\0WAVE${text}`, 'latin1');
const read = (type: string, bytes: Buffer) =>
  readResult({ content: [{ type, mimeType: `${type}/x`, data: bytes.toString('base64') }] }, remover);

it.each<[string, string, Buffer]>([
  ['in a comment of an image', 'image', png(`tEXtAuthorization\0Bearer ${secret}`)],
  ['in a sound', 'audio', wav(`LIST ${secret}`)],
  ['as base64', 'image', png(Buffer.from(`x${secret}`).toString('base64'))],
  ['as hexadecimal digits', 'image', png(Buffer.from(secret).toString('hex'))],
  ['as UTF-16', 'image', png(Buffer.from(secret, 'utf16le'))],
])('media with the sent credential %s are left out', (_, type, bytes) => {
  const { text, media } = read(type, bytes);
  expect(media).toEqual([]);
  expect(text).toMatch(/^\[(image|audio) \S+, \d+ characters of base64, not shown\]$/);
});

it('media without it stay as they are, and leave their room to others when they are left out', () => {
  const bytes = png(Buffer.from(Array.from({ length: 10_000 }, (_, n) => (n * 31) % 256)));
  const data = bytes.toString('base64');
  const parts = [...Array<Buffer>(4).fill(png(secret)), bytes].map((each) => ({
    type: 'image',
    mimeType: 'image/png',
    data: each.toString('base64'),
  }));
  expect(readResult({ content: parts }, remover).media).toEqual([{ mediaType: 'image/png', data }]);
});
