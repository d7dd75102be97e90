import { defineEntity } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'Collection',
  tableName: 'collections',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    id: p.uuid().primary(),
    spaceId: p.uuid(),
    name: p.text(),
    description: p.text().nullable(),
    textSearchConfig: p.text().default('english').columnType('regconfig'),
    /** Maintained by the database as documents change. */
    chunkCount: p.bigint('number').default(0),
    /** Passages that the statistics of words are of; maintained by the database. */
    lexemeChunks: p.bigint('number').default(0),
    /** Searches and reads leave out documents that the requester may not read at their source. */
    enforceSourceReaders: p.boolean().default(false),
    createdBy: p.uuid(),
    createdAt: p.datetime().defaultRaw('now()'),
    updatedAt: p.datetime().defaultRaw('now()'),
    /** Its rows are being erased; only the purge role sees it. */
    deletedAt: p.datetime().nullable(),
  }),
});

export class Collection extends schema.class {}
schema.setClass(Collection);
