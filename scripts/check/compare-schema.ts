import type { Column } from './read-columns.ts';

/** The part of the ORM's metadata of one entity that the comparison needs. */
export interface EntityTable {
  tableName: string;
  props: readonly {
    fieldNames?: readonly string[];
    columnTypes?: readonly string[];
    nullable?: boolean | undefined;
    persist?: boolean | undefined;
  }[];
}

/** Used by functions and statements of ours only, never as an entity. */
const WITHOUT_ENTITY = new Set([
  'chunk_embeddings',
  'chunk_vectors',
  'chunks',
  'language_changes',
  'lexeme_stats',
  'embedding_usage',
  'data_keys',
  'event_chains',
  'event_counts',
  'event_dedupe',
  'event_resource_counts',
  'event_seals',
  'events',
  'fan_outs',
  'external_identities',
  'idempotency_keys',
  'login_transactions',
  'mikro_orm_migrations',
  'notified_periods',
  'outbox',
  'rate_buckets',
  'redactions',
  'reranking_usage',
  'response_context',
  'response_ids',
  'session_tokens',
  'skill_uses',
  'stored_objects',
  'stored_parts',
  'stream_runs',
  'thread_branches',
  'used_id_tokens',
]);

/** Written and read by processes of the version before only; a later migration drops them. */
const OF_THE_VERSION_BEFORE = new Set(['documents.content']);

const SPELLINGS: Record<string, string> = {
  int: 'integer',
  timestamptz: 'timestamp with time zone',
  bool: 'boolean',
};

/** One line per table or column that is on one side only, or of another type or nullability. */
export function compareSchema(entities: readonly EntityTable[], columns: readonly Column[]): string[] {
  const mapped = new Map<string, Column>();
  for (const column of entities.flatMap(columnsOf)) mapped.set(keyOf(column), column);
  const present = new Map(columns.map((column) => [keyOf(column), column]));
  const tables = new Set(columns.map(({ table }) => table));
  const entityTables = new Set(entities.map(({ tableName }) => tableName));
  return [
    ...[...tables]
      .filter((table) => !entityTables.has(table) && !WITHOUT_ENTITY.has(table))
      .map((table) => `${table}: a table without an entity`),
    ...[...WITHOUT_ENTITY]
      .filter((table) => !tables.has(table) || entityTables.has(table))
      .map((table) => `${table}: listed as a table without an entity, and is not one`),
    ...[...mapped].flatMap(([key, column]) => compareColumn(key, column, present.get(key))),
    ...[...present]
      .filter(
        ([key, { table }]) => entityTables.has(table) && !mapped.has(key) && !OF_THE_VERSION_BEFORE.has(key),
      )
      .map(([key]) => `${key}: in the database, not in the entity`),
  ];
}

function compareColumn(key: string, entity: Column, database: Column | undefined): string[] {
  if (!database) return [`${key}: in the entity, not in the database`];
  const lines: string[] = [];
  if (entity.type !== database.type)
    lines.push(`${key}: ${entity.type} in the entity, ${database.type} in the database`);
  if (entity.nullable !== database.nullable) {
    const say = (nullable: boolean): string => (nullable ? 'nullable' : 'not null');
    lines.push(`${key}: ${say(entity.nullable)} in the entity, ${say(database.nullable)} in the database`);
  }
  return lines;
}

function columnsOf({ tableName, props }: EntityTable): Column[] {
  return props
    .filter(({ persist }) => persist !== false)
    .flatMap(({ fieldNames = [], columnTypes = [], nullable = false }) =>
      fieldNames.map((name, index) => ({
        table: tableName,
        name,
        type: spell(columnTypes[index] ?? 'unknown'),
        nullable,
      })),
    );
}

function spell(type: string): string {
  return SPELLINGS[type] ?? type;
}

function keyOf({ table, name }: Column): string {
  return `${table}.${name}`;
}
