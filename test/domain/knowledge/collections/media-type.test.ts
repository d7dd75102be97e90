import { describe, expect, it } from 'vitest';
import { detectMediaType, sniffedBytes } from '#domain/knowledge/collections/media-type.ts';

const bytes = (text: string) => Buffer.from(text);

describe('detectMediaType', () => {
  it.each([
    ['application/pdf', bytes('%PDF-1.7\n')],
    ['application/zip', Buffer.from('504b030414000600', 'hex')],
    ['application/gzip', Buffer.from('1f8b0800', 'hex')],
    ['application/x-ole-storage', Buffer.from('d0cf11e0a1b11ae1', 'hex')],
    ['application/rtf', bytes('{\\rtf1\\ansi')],
    ['image/png', Buffer.from('89504e470d0a1a0a', 'hex')],
    ['image/jpeg', Buffer.from('ffd8ffe0', 'hex')],
    ['image/gif', bytes('GIF89a')],
    ['application/octet-stream', Buffer.from('61ff010203040562', 'hex')],
    ['application/octet-stream', bytes('a\0b')],
  ])('sees %s whatever it is declared as', (type, content) => {
    expect(detectMediaType(content, 'text/plain')).toBe(type);
    expect(detectMediaType(content, 'text/html')).toBe(type);
  });

  it.each(['<!doctype html><p>A', '\n <!DOCTYPE HTML PUBLIC "x">', '<html lang="en">', '\uFEFF<html>'])(
    'sees a page in %j, whatever it is declared as',
    (text) => {
      expect(detectMediaType(bytes(text), 'text/plain')).toBe('text/html');
      expect(detectMediaType(bytes(text), 'text/markdown')).toBe('text/html');
    },
  );

  it.each(['text/plain', 'text/markdown', 'text/html'] as const)(
    'takes other texts for %s as declared',
    (type) => {
      for (const text of ['# A', '<p>A fragment', 'About <html> and \u0001.', '']) {
        expect(detectMediaType(bytes(text), type)).toBe(type);
      }
    },
  );

  it.each([
    ['document', 'wordprocessingml', 'word/document.xml'],
    ['presentation', 'presentationml', 'ppt/presentation.xml'],
    ['sheet', 'spreadsheetml', 'xl/workbook.xml'],
  ])('knows an Office %s by the names in its directory', (kind, family, part) => {
    const zip = Buffer.concat([Buffer.from('504b0304', 'hex'), Buffer.alloc(9_000), bytes(part)]);
    const type = `application/vnd.openxmlformats-officedocument.${family}.${kind}`;
    expect(detectMediaType(zip, 'text/plain')).toBe(type);
    expect(detectMediaType(zip.subarray(0, sniffedBytes), 'text/plain', zip.subarray(-100))).toBe(type);
    expect(detectMediaType(zip.subarray(0, sniffedBytes), 'text/plain')).toBe('application/zip');
  });

  it('takes a text that was declared as a binary format for plain text', () => {
    expect(detectMediaType(bytes('Not a PDF.'), 'application/pdf')).toBe('text/plain');
    expect(detectMediaType(bytes('a,b'), 'text/csv')).toBe('text/csv');
  });

  it.each(['utf-16le', 'windows-1252'])('sees text in %s', (encoding) => {
    const text = 'Ein grüner Leuchtturm für alle.';
    const content = encoding === 'utf-16le' ? Buffer.from(text, 'utf16le') : Buffer.from(text, 'latin1');
    expect(detectMediaType(content, 'text/plain')).toBe('text/plain');
  });

  it('takes a character that its look cuts in two for a whole one', () => {
    expect(detectMediaType(bytes(`${'a'.repeat(sniffedBytes - 1)}ä`), 'text/plain')).toBe('text/plain');
  });
});
