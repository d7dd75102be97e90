import { describe, expect, it } from 'vitest';
import { cancel, signal, start } from '#domain/foundation/durable/messages.ts';
import {
  factsOf,
  parseWorkflowId,
  workflowIdOf,
  workflows,
  type WorkflowType,
} from '#domain/foundation/durable/workflow-types.ts';
import * as bundled from '#workflows/index.ts';
import { reconciliation } from '#domain/operations/maintenance/reconciliation.ts';
import { sweeps, type PlannedSweep } from '#domain/operations/maintenance/sweeps.ts';

const types = Object.keys(workflows) as WorkflowType[];

describe('the registry of workflows', () => {
  it('names every workflow of the bundle, and no other', () => {
    expect(types.toSorted()).toEqual(Object.keys(bundled).toSorted());
  });

  it('spells ids as they always were', () => {
    const tenantId = 't';
    expect([
      workflowIdOf('generateResponse', { tenantId, responseId: 'r' }),
      workflowIdOf('ingestDocument', { tenantId, documentId: 'd' }),
      workflowIdOf('discoverTools', { tenantId, serverId: 's', number: 3 }),
      workflowIdOf('traceResponse', { tenantId, responseId: 'r' }),
      workflowIdOf('fanOutEvent', { tenantId, eventId: 'e' }),
      workflowIdOf('deleteTenant', { tenantId }),
      workflowIdOf('eraseScope', { tenantId, rootType: 'collection', rootId: 'c' }),
      workflowIdOf('runSweep', { sweep: 'sealEvents' }),
    ]).toEqual([
      'response/t/r',
      'document/t/d',
      'mcp-server/t/s/3',
      'trace/t/r',
      'notify/t/e',
      'tenant-deletion/t',
      'erasure/t/collection/c',
      'upkeep/sealEvents',
    ]);
  });

  it('tells the type by the id, since no two types share a prefix', () => {
    for (const type of types) {
      const { prefix } = factsOf(type);
      expect(parseWorkflowId(`${prefix}/a/b`)).toEqual({ type, parts: ['a', 'b'] });
    }
    expect(parseWorkflowId('constructor/a/b')).toBeNull();
  });

  it('has the compiler refuse an input, an id or a signal of another type', () => {
    const mistakes = () => [
      // @ts-expect-error -- the document is missing
      start('ingestDocument', { tenantId: 't' }),
      // @ts-expect-error -- a number is no id
      cancel('generateResponse', { tenantId: 't', responseId: 7 }),
      // @ts-expect-error -- it takes no signals
      signal('generateResponse', { tenantId: 't', responseId: 'r' }, 'wake', []),
      // @ts-expect-error -- the budget is missing
      signal('runSweep', { sweep: 's' }, 'wake', [{}]),
    ];
    expect(mistakes).toBeTypeOf('function');
  });

  it('has each sweep planned that compares rows with Temporal', () => {
    const planned = Object.values<PlannedSweep>(sweeps).map(({ sweep }) => sweep);
    const comparing = Object.values(reconciliation).filter((entry) => 'run' in entry);
    expect(comparing.length).toBeGreaterThan(2);
    expect(comparing.filter((sweep) => !planned.includes(sweep))).toEqual([]);
  });
});
