import type { Command } from 'commander';
import type { Connection } from '../connect.ts';
import { inCollection, type InCollection } from '../in-collection.ts';
import { inSpace, type InSpace } from '../in-space.ts';
import { fields, table } from '../print.ts';
import { uploadFile } from '../upload-file.ts';
import { paged, pageInput, remote, withNext, type PageOptions } from '../remote.ts';

interface NewCollection extends InSpace {
  name: string;
  description?: string;
  textSearchConfig?: string;
  enforceSourceReaders?: boolean;
}

type ChangedCollection = Omit<NewCollection, 'name'> & { name?: string };

interface NewDocument extends InCollection {
  mediaType?: string;
}

function settingsOf({
  description,
  textSearchConfig,
  enforceSourceReaders,
}: Pick<NewCollection, 'description' | 'textSearchConfig' | 'enforceSourceReaders'>) {
  return {
    ...(description === undefined ? {} : { description }),
    ...(textSearchConfig === undefined ? {} : { text_search_config: textSearchConfig }),
    ...(enforceSourceReaders === undefined ? {} : { enforce_source_readers: enforceSourceReaders }),
  };
}

function progressOf(change: { former: string[]; chunks_done: number; chunks_total: number }): string {
  return `from ${change.former.join(', ')}: ${change.chunks_done} of ${change.chunks_total} passages`;
}

export function addCollections(program: Command): void {
  const group = program.command('collections').description('collections of documents');

  remote(inSpace(paged(group.command('list')).description('collections of a space, newest first')), {
    call: (client, { space, ...page }: InSpace & PageOptions) =>
      client.collections.list.query({ space_id: space, ...pageInput(page) }),
    show: ({ data, meta }) =>
      withNext(
        table(data, { id: (row) => row.id, name: (row) => row.name, created: (row) => row.created_at }),
        meta,
      ),
  });
  const id = '<collection_id>';
  remote(inSpace(group.command('get').description('one collection').argument(id)), {
    call: (client, { space }: InSpace, collection) =>
      client.collections.get.query({ space_id: space, collection_id: collection }),
    show: ({ data: { statistics, ...collection } }) =>
      fields({
        ...collection,
        documents: Object.entries(statistics.documents)
          .map(([state, n]) => `${n} ${state}`)
          .join(', '),
        passages: statistics.chunks,
        bytes: statistics.bytes,
        ...(statistics.language_change === null
          ? {}
          : { language_change: progressOf(statistics.language_change) }),
      }),
  });
  remote(
    inSpace(group.command('create'))
      .description('a collection without a document')
      .requiredOption('--name <name>', 'its name')
      .option('--description <text>', 'for people')
      .option('--text-search-config <name>', 'of PostgreSQL, such as german; english when not given')
      .option('--enforce-source-readers', 'leave out what the caller may not read at its source'),
    {
      call: (client, { space, name, ...options }: NewCollection) =>
        client.collections.create.mutate({
          space_id: space,
          name,
          ...settingsOf(options),
        }),
      show: ({ data }) => fields(data),
    },
  );
  remote(
    inSpace(group.command('update'))
      .description('its name, description, language or enforcement of readers')
      .argument(id)
      .option('--name <name>', 'its name')
      .option('--description <text>', 'for people; empty for none')
      .option('--text-search-config <name>', 'the language; its passages are indexed again in the background')
      .option('--enforce-source-readers', 'leave out what the caller may not read at its source')
      .option('--no-enforce-source-readers', 'show it to everybody who may search the space'),
    {
      call: (client, { space, name, ...options }: ChangedCollection, collection) =>
        client.collections.update.mutate({
          space_id: space,
          collection_id: collection,
          ...(name === undefined ? {} : { name }),
          ...settingsOf(options),
        }),
      show: ({ data }) => fields(data),
    },
  );
  remote(inSpace(group.command('delete').description('with all its documents').argument(id)), {
    call: (client, { space }: InSpace, collection) =>
      client.collections.delete.mutate({ space_id: space, collection_id: collection }),
    show: ({ data }) => fields(data),
  });
}

export function addDocuments(program: Command): void {
  const group = program.command('documents').description('documents of a collection');
  const ref = ({ space, collection }: InCollection, document: string) => ({
    space_id: space,
    collection_id: collection,
    document_id: document,
  });

  remote(inCollection(paged(group.command('list')).description('documents, newest first')), {
    call: (client, { space, collection, ...page }: InCollection & PageOptions) =>
      client.documents.list.query({ space_id: space, collection_id: collection, ...pageInput(page) }),
    show: ({ data, meta }) =>
      withNext(
        table(data, {
          id: (row) => row.id,
          file: (row) => row.filename,
          status: (row) => row.status,
          failure: (row) => row.failure_code,
          bytes: (row) => row.byte_size,
          passages: (row) => row.chunk_count,
          embedded: (row) => row.embedded_count,
        }),
        meta,
      ),
  });
  const id = '<document_id>';
  remote(inCollection(group.command('get').description('one document, without its text').argument(id)), {
    call: (client, options: InCollection, document) => client.documents.get.query(ref(options, document)),
    show: ({ data }) => fields(data),
  });
  remote(
    inCollection(paged(group.command('passages')).description('its passages, in its order').argument(id)),
    {
      call: (client, options: InCollection & PageOptions, document) =>
        client.documents.passages.query({ ...ref(options, document), ...pageInput(options) }),
      show: ({ data, meta }) =>
        withNext(
          table(data, {
            position: (row) => row.position,
            page: (row) => row.page,
            heading: (row) => row.heading,
            text: (row) => row.text,
          }),
          meta,
        ),
    },
  );
  remote(
    inCollection(
      group.command('upload').description('add a document').argument('<file>', 'of any format'),
    ).option('--media-type <type>', 'a hint; without it the content and the name decide'),
    {
      call: (_client, { mediaType, ...connection }: NewDocument & Connection, file) =>
        uploadFile(connection, connection, { file, mediaType }),
      show: ({ data }) => fields({ id: data.id, status: data.status }),
    },
  );
  remote(inCollection(group.command('delete').description('with its passages').argument(id)), {
    call: (client, options: InCollection, document) => client.documents.delete.mutate(ref(options, document)),
    show: ({ data }) => fields(data),
  });
  remote(inCollection(group.command('retry').description('process a failed document again').argument(id)), {
    call: (client, options: InCollection, document) => client.documents.retry.mutate(ref(options, document)),
    show: ({ data }) => fields({ id: data.id, status: data.status }),
  });
}
