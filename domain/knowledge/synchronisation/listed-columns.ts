import { foldCase } from '#domain/identity/principals/fold-address.ts';
import type { Connector } from '#domain/knowledge/connectors/connector.entity.ts';
import type { ListedDocument, SourceReaders } from '#domain/knowledge/connectors/source.ts';
import { sourceFilename } from './source-filename.ts';

/** The columns of a document that follow from its listing, whatever its content is. */
export function listedColumns(connector: Connector, { name, url, readers }: ListedDocument) {
  return {
    filename: sourceFilename(name),
    metadata: { source: connector.providerSlug, ...(url === null ? {} : { url }) },
    source_readers: readers === undefined ? null : readersOf(connector, readers),
  };
}

function readersOf({ id }: Connector, readers: SourceReaders): string[] {
  return readers === 'public'
    ? ['public']
    : [
        ...readers.addresses.map((address) => `address:${foldCase(address)}`),
        ...(readers.domains ?? []).map((domain) => `domain:${foldCase(domain)}`),
        ...readers.groups.map((group) => `group:${id}:${group}`),
      ];
}
