import type { z } from 'zod';
import type { contentPart } from '#api/contract/responses.ts';
import { DomainError, invalid } from '#domain/foundation/kernel/errors.ts';
import type { InputContent } from '#domain/responses/record/output-items.ts';
import { own } from '#domain/foundation/kernel/own.ts';
import { isTextFile } from '#domain/foundation/kernel/text-file.ts';

type ContentPart = z.infer<typeof contentPart>;

/** Of one image or file, decoded. */
const largestBytes = 3_000_000;

/** Magic numbers by media type; texts have none. */
const beginnings: Record<string, RegExp> = {
  'image/png': /^\x89PNG\r\n/,
  'image/jpeg': /^\xff\xd8\xff/,
  'image/gif': /^GIF8[79]a/,
  'image/webp': /^RIFF[^]{4}WEBP/,
  'application/pdf': /^[^]{0,1000}%PDF-/,
};
const texts = new Set(['text/plain', 'text/markdown', 'text/csv', 'text/html', 'text/xml']);

const types: Record<string, string> = {
  pdf: 'application/pdf',
  txt: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  html: 'text/html',
  xml: 'text/xml',
};

/**
 * Converts one part of a message; files are data URLs. @throws `remote_url_not_allowed`; `invalid_request` for a file
 * that is not base64, has an unknown type, does not match its type, is text in another encoding, or is too large
 */
export function toInputContent(part: ContentPart): InputContent {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
      return { type: part.type, text: part.text };
    case 'input_image': {
      const { url, mediaType } = readDataUrl(part.image_url);
      if (!mediaType.startsWith('image/')) {
        throw invalid('input', 'image_url must hold an image.');
      }
      return { type: 'input_image', image_url: url, detail: part.detail ?? 'auto' };
    }
    case 'input_file': {
      rejectRemote(part.file_url);
      if (part.file_data === undefined || part.file_url !== undefined) {
        throw invalid('input', 'input_file needs file_data.');
      }
      const filename = part.filename ?? 'file';
      const { url, mediaType } = readDataUrl(toDataUrl(part.file_data, filename));
      if (mediaType.startsWith('image/')) {
        throw invalid('input', 'An image must be given as input_image.');
      }
      return { type: 'input_file', filename, file_data: url };
    }
  }
}

/** Models accept files of the user role only. */
export function requireUser<Role extends string>(role: Role): Role {
  if (role !== 'user') {
    throw invalid('input', 'Only messages of the user may hold images and files.');
  }
  return role;
}

/** Bare base64 gets the media type of its filename's extension. */
function toDataUrl(text: string, filename: string): string {
  if (text.startsWith('data:') || /^https?:/i.test(text)) {
    return text;
  }
  const type = own(types, filename.slice(filename.lastIndexOf('.') + 1).toLowerCase());
  if (type === undefined) {
    throw invalid('input', 'file_data must be a data URL, or filename must tell its type.');
  }
  return `data:${type};base64,${text}`;
}

function withoutPadding(base64: string): string {
  return base64.replace(/(?<!=)=+$/, '');
}

function readDataUrl(text: string): { url: string; mediaType: string } {
  rejectRemote(text);
  const match = /^data:([a-z]+\/[a-z0-9.+-]+)(?:;charset=[a-z0-9-]+)?;base64,/i.exec(text);
  const mediaType = match?.[1]?.toLowerCase() ?? '';
  const beginning = own(beginnings, mediaType);
  if (match === null || (beginning === undefined && !texts.has(mediaType))) {
    throw invalid('input', 'A file must be a base64 data URL of an image, a PDF document or a text.');
  }
  const data = text.slice(match[0].length);
  const bytes = Buffer.from(data, 'base64');
  if (bytes.length === 0 || withoutPadding(bytes.toString('base64')) !== withoutPadding(data)) {
    throw invalid('input', 'A file is not base64.');
  }
  if (bytes.length > largestBytes) {
    throw invalid('input', `A file may have at most ${largestBytes} bytes.`);
  }
  if (beginning !== undefined && !beginning.test(bytes.toString('latin1', 0, 1_024))) {
    throw invalid('input', 'A file is not what its media type says.');
  }
  if (beginning === undefined && !isTextFile(bytes)) {
    throw invalid('input', 'A text file must be UTF-8, or UTF-16 with a byte order mark.');
  }
  return { url: `data:${mediaType};base64,${bytes.toString('base64')}`, mediaType };
}

function rejectRemote(url: string | undefined): void {
  if (url !== undefined && /^https?:/i.test(url)) {
    throw new DomainError('remote_url_not_allowed', 'Remote URLs are not allowed in this space.', {
      param: 'input',
    });
  }
}
