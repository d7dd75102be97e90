import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Client } from 'pg';
import { createTestDatabase, type TestDatabase } from '#test/support/database.ts';
import { compareSchema, type EntityTable } from '../../scripts/check/compare-schema.ts';
import { readColumns } from '../../scripts/check/read-columns.ts';

describe('the comparison of entities and migrated schema', () => {
  let db: TestDatabase;
  let client: Client;
  let entities: EntityTable[];

  beforeAll(async () => {
    db = await createTestDatabase();
    entities = [...db.orm.getMetadata().getAll().values()];
    client = new Client({ connectionString: db.adminUrl });
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await db.drop();
  });

  async function differencesAfter(change: string): Promise<string[]> {
    // A change is undone before the next one: the columns are read inside its transaction.
    await client.query('begin');
    try {
      await client.query(change);
      return compareSchema(entities, await readColumns(client));
    } finally {
      await client.query('rollback');
    }
  }

  test('finds none in what the migrations make', async () => {
    expect(compareSchema(entities, await readColumns(client))).toEqual([]);
  });

  test.each([
    ['alter table spaces drop column policy', ['spaces.policy: in the entity, not in the database']],
    ['alter table spaces add column colour text', ['spaces.colour: in the database, not in the entity']],
    [
      'alter table spaces rename column policy to rules',
      [
        'spaces.policy: in the entity, not in the database',
        'spaces.rules: in the database, not in the entity',
      ],
    ],
    [
      'alter table turns alter column first_n type bigint',
      ['turns.first_n: integer in the entity, bigint in the database'],
    ],
    [
      'alter table spaces alter column name drop not null',
      ['spaces.name: not null in the entity, nullable in the database'],
    ],
    ['create table stray (tenant_id uuid)', ['stray: a table without an entity']],
    ['drop table outbox cascade', ['outbox: listed as a table without an entity, and is not one']],
  ])('after "%s" says so', async (change, lines) => {
    expect(await differencesAfter(change)).toEqual(lines);
  });

  test('finds a property that was removed from an entity', async () => {
    const without = entities.map((entity) =>
      entity.tableName === 'spaces'
        ? {
            tableName: entity.tableName,
            props: entity.props.filter(({ fieldNames }) => fieldNames?.[0] !== 'name'),
          }
        : entity,
    );
    expect(compareSchema(without, await readColumns(client))).toEqual([
      'spaces.name: in the database, not in the entity',
    ]);
  });
});
