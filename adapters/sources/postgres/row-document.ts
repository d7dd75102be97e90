import { createHash } from 'node:crypto';
import { foldCase } from '#domain/identity/principals/fold-address.ts';
import type { ListedDocument, SourceReaders } from '#domain/knowledge/connectors/source.ts';
import { columnsDigest, type PostgresScope } from './scope.ts';
import type { Row } from './statements.ts';

const maxReaders = 500;

/** The document of a row; its content, where the row has its body. */
export function rowDocument(row: Row, scope: PostgresScope): ListedDocument {
  const content = rowContent(row, scope);
  return {
    ref: row.key,
    name: `${nameOf(row)}.md`,
    version: rowVersion(row, scope, null),
    byteSize: content?.byteLength ?? Number(row.bytes),
    mediaType: 'text/markdown',
    url: null,
    ...(content === null ? {} : { content }),
    ...(scope.readers === null ? {} : { readers: readersOf(row.readers) }),
  };
}

/** Markdown; null: the row came without its body. */
export function rowContent(row: Row, { body }: PostgresScope): Buffer | null {
  if (row.has_body !== 'true') {
    return null;
  }
  const parts = body.flatMap((column, at) => {
    const text = row[`body_${at}`]?.trim() ?? '';
    return text === '' ? [] : [body.length === 1 ? text : `## ${oneLine(column)}\n\n${text}`];
  });
  return Buffer.from(`${[`# ${titleOf(row)}`, ...parts].join('\n\n')}\n`);
}

/** A row whose `updated_at` is null has a version only by its content. */
export function rowVersion(row: Row, scope: PostgresScope, content: Buffer | null): string | null {
  const state = row.state ?? content;
  if (state === null) {
    return null;
  }
  const hash = createHash('sha256')
    .update(columnsDigest(scope))
    .update(row.title ?? '')
    .update('\n')
    .update(state);
  return hash.digest('hex').slice(0, 32);
}

const oneLine = (text: string): string => text.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ').trim();

function titleOf(row: Row): string {
  return oneLine(row.title ?? '') || row.key;
}

/** A slash would make a folder. */
function nameOf(row: Row): string {
  return titleOf(row).slice(0, 150).toWellFormed().replaceAll('/', '-').trim();
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}

/** Nobody, where the column says nothing that can be read. */
function readersOf(json: string | null): SourceReaders {
  const value = json === null ? null : parsed(json);
  const list: unknown[] = Array.isArray(value) ? value : typeof value === 'string' ? value.split(',') : [];
  const names = list.filter((each) => typeof each === 'string').map((each) => foldCase(each.trim()));
  return names.includes('*')
    ? 'public'
    : {
        addresses: [...new Set(names.filter((each) => each.includes('@')))].slice(0, maxReaders),
        groups: [],
      };
}
