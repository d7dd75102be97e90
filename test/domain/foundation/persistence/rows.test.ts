import { afterAll, describe, expect, it } from 'vitest';
import { ModelPrice } from '#domain/capabilities/models/model-price.entity.ts';
import { changedColumns, copyEntity, toEntity } from '#domain/foundation/persistence/rows.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { ToolCall } from '#domain/responses/record/tool-call.entity.ts';
import { Tenant } from '#domain/workspace/tenants/tenant.entity.ts';

const orm = createOrm({ url: 'postgres://nobody@127.0.0.1:1/none', statementTimeoutMs: 1_000 });
afterAll(() => orm.close(true));

const row = {
  tenant_id: '0199c3c0-0000-7000-8000-000000000000',
  response_id: 'resp_1',
  iteration: 0,
  provider_state: { at: '2026-11-01T10:00:00Z', parts: [null] },
  leased_until: '2026-11-01T10:00:00.123456+02:00',
  // A text whose name sounds like a time.
  tool_name: '2026-11-01T10:00:00Z',
  done_at: null,
};

describe('a row that SQL answered as JSON', () => {
  it('becomes its entity by the columns and types that the entity declares', () => {
    const call = toEntity(ToolCall, row);
    expect(call).toBeInstanceOf(ToolCall);
    expect(Object.fromEntries(Object.entries(call))).toEqual({
      tenantId: row.tenant_id,
      responseId: 'resp_1',
      iteration: 0,
      providerState: row.provider_state,
      leasedUntil: new Date('2026-11-01T08:00:00.123Z'),
      toolName: row.tool_name,
      doneAt: null,
    });
  });

  it('is read by the name of its column, where that is another one', () => {
    expect(toEntity(Tenant, { tenant_id: row.tenant_id }).id).toBe(row.tenant_id);
  });

  it('is another object each time, which the ORM does not manage', () => {
    const em = orm.em.fork();
    expect(toEntity(ToolCall, row)).not.toBe(toEntity(ToolCall, row));
    expect(em.getUnitOfWork().getIdentityMap().keys()).toEqual([]);
  });

  it('is refused where a number is larger than JSON has them', () => {
    expect(() => toEntity(ModelPrice, {})).toThrow('ModelPrice.inputMicroUsdPerMillion');
  });
});

it('changes are named by their columns', () => {
  const before = toEntity(Tenant, { tenant_id: row.tenant_id, display_name: 'A' });
  const now = copyEntity(before);
  expect(changedColumns(before, now)).toBeNull();
  now.id = '0199c3c0-0000-7000-8000-000000000001';
  expect(changedColumns(before, now)).toEqual({ tenant_id: now.id });
});
