import { readXml } from '../../knowledge/formats/xml-reader.ts';

/** What a server says about one resource, as it stands in its answer. */
export interface DavResponse {
  href: string;
  isFolder: boolean;
  etag: string;
  modified: string;
  length: string;
  mediaType: string;
  /** Of the resource as a whole; 200 where the server gives none. */
  status: number;
}

/** Longer texts of a property are cut. */
const maxTextLength = 8_192;
const members = new Map<string, 'etag' | 'modified' | 'length' | 'mediaType'>([
  ['getetag', 'etag'],
  ['getlastmodified', 'modified'],
  ['getcontentlength', 'length'],
  ['getcontenttype', 'mediaType'],
]);

/**
 * Reads an answer to PROPFIND, in time that grows with its length. Properties that the server refuses are left empty.
 * @throws ExtractionFailure for what is no XML
 */
export function readMultistatus(xml: string): DavResponse[] {
  const responses: DavResponse[] = [];
  const path: string[] = [];
  let response = empty();
  let found: Partial<DavResponse> = {};
  let isRefused = false;
  let text = '';
  readXml(xml, {
    open: (name) => {
      path.push(name);
      text = '';
      if (name === 'response') response = empty();
      if (name === 'propstat') [found, isRefused] = [{}, false];
      if (name === 'collection' && path.at(-2) === 'resourcetype') found.isFolder = true;
    },
    text: (part) => {
      if (text.length < maxTextLength) text += part.slice(0, maxTextLength);
    },
    close: (name) => {
      path.pop();
      const parent = path.at(-1);
      const member = parent === 'prop' ? members.get(name) : undefined;
      if (member !== undefined) found[member] = text.trim();
      else if (name === 'href' && parent === 'response') response.href = text.trim();
      else if (name === 'status' && parent === 'propstat') isRefused = statusOf(text) >= 300;
      else if (name === 'status' && parent === 'response') response.status = statusOf(text);
      else if (name === 'propstat' && !isRefused) Object.assign(response, found);
      else if (name === 'response' && parent === 'multistatus') responses.push(response);
      text = '';
    },
  });
  return responses;
}

function empty(): DavResponse {
  return { href: '', isFolder: false, etag: '', modified: '', length: '', mediaType: '', status: 200 };
}

function statusOf(line: string): number {
  return Number(/^\s*HTTP\/\S+ (\d{3})/.exec(line)?.[1] ?? 200);
}
