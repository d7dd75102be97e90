import { expect } from 'vitest';
import type { Source } from '#domain/knowledge/connectors/source.ts';
import type { FakeSource } from './source-contract.ts';
import { SourceModel } from './source-model.ts';

const ahead = 'Fri, 01 Jan 2100 00:00:00 GMT';

/** Of a source with a document `a`, whose scope lists everything again after a day. */
export async function expectChangesWithWrongClock(server: FakeSource, source: Source): Promise<void> {
  server.interfere((_request, response) => void response.setHeader('date', ahead));
  const model = new SourceModel();
  await model.sync(source);
  expect(model.checkpoint).not.toMatch(/2099-12|2100-01/);
  server.interfere(null);
  await server.put('a', 'other');
  const { scope, documents } = await model.sync(source);
  expect({ scope, documents: documents.length }).toEqual({ scope: 'changes', documents: 1 });
  // As an earlier version has stored it.
  model.checkpoint = model.checkpoint!.replace(/"whole":"[^"]*"/, '"whole":"2100-01-01T00:00:00.000Z"');
  expect(await model.sync(source)).toMatchObject({ scope: 'everything' });
}
