import type { Client } from 'pg';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { openGateway, type TestGateway } from './gateway.ts';
import { addOperator, type Operator } from './operators.ts';
import { createPlaces, Maker, type Place } from './places.ts';
import { procedureFixtures, type ProcedureFixture } from './procedure-fixtures.ts';
import { callProcedure, procedures, type Procedure } from './procedures.ts';
import { connect } from './tables.ts';
import type { World } from './world.ts';

/** A gateway with two tenants and an operator, and a fixture for each of its procedures. */
export interface CallWorld {
  database: TestDatabase;
  gateway: TestGateway;
  admin: Client;
  world: World;
  here: Place;
  neighbour: Place;
  abroad: Place;
  operator: Operator;
  all: Procedure[];
  fixtures: Record<string, ProcedureFixture>;
  /** The key that the procedure is called with in a place: its owner's, or the operator's. */
  keyFor(procedure: Pick<Procedure, 'path'>, place: Place): string;
  /** The credential of a call by the same principal. */
  proofFor(
    procedure: Pick<Procedure, 'path'>,
    place: Place,
  ): Promise<{ apiKey: string } | { headers: Record<string, string> }>;
  close(): Promise<void>;
}

export async function openCallWorld(env: Record<string, string> = {}): Promise<CallWorld> {
  const database = await createTestDatabase();
  const gateway = await openGateway(database, env);
  const admin = await connect(database.adminUrl);
  const { world, here, neighbour, abroad } = await createPlaces(database);
  const operator = await addOperator(database.unitOfWork);
  const { rows } = await admin.query<{ id: string }>('select id from principals where tenant_id = $1', [
    abroad.tenantId,
  ]);
  const owner = { ...world.owner, tenantId: abroad.tenantId, principalId: rows[0]!.id };
  const other: World = { ...world, ...abroad, owner };
  const all = procedures();
  const keyFor: CallWorld['keyFor'] = ({ path }, place) =>
    fixtures[path]!.operator ? operator.apiKey : place.apiKey;
  const fixtures = procedureFixtures({
    database,
    admin,
    maker: new Maker(() => gateway),
    worldOf: (place) => (place.tenantId === world.tenantId ? { ...world, ...place } : other),
    cursorOf: async (place, path, input) => {
      const procedure = all.find((each) => each.path === path)!;
      const call = { procedure, input: { ...input, limit: 1 }, apiKey: keyFor(procedure, place) };
      const answer = await callProcedure(gateway, call);
      return answer.body.result.data.meta.next_cursor as string;
    },
  });
  return {
    database,
    gateway,
    admin,
    world,
    here,
    neighbour,
    abroad,
    operator,
    all,
    fixtures,
    keyFor,
    proofFor: async (procedure, place) => {
      const token = await fixtures[procedure.path]!.token?.(place);
      return token === undefined
        ? { apiKey: keyFor(procedure, place) }
        : { headers: { authorization: `Bearer ${token}` } };
    },
    close: async () => {
      await gateway.close();
      await admin.end();
      await database.drop();
    },
  };
}
