import { deleted } from '#api/contract/common.ts';
import { credentialEnvelope, credentialPage } from '#api/contract/credentials.ts';
import * as inputs from '#api/contract/procedures.ts';
import { presentCredential } from '#api/present/credentials.ts';
import { toPage } from '#api/present/page.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import type { EventType } from '#domain/foundation/events/catalogue.ts';
import { createCredential } from '#domain/capabilities/credentials/create-credential.ts';
import { deleteCredential } from '#domain/capabilities/credentials/delete-credential.ts';
import { listCredentials, readCredential } from '#domain/capabilities/credentials/find-credential.ts';
import { updateCredential } from '#domain/capabilities/credentials/update-credential.ts';
import { procedure, reads, router } from './trpc.ts';

const reading = () => procedure({ permission: 'credentials.read', audit: reads });
const managing = (audit: EventType[]) => procedure({ permission: 'credentials.manage', audit });
const created: EventType[] = ['security.credential_created'];
const updated: EventType[] = ['security.credential_updated', 'security.credential_rotated'];
const removed: EventType[] = ['security.credential_deleted'];

const listed = (input: { limit: number; cursor?: string | null | undefined }) => async (ctx: Context) => {
  const page = await listCredentials(ctx, { limit: input.limit, cursor: input.cursor ?? null });
  return toPage({ ...page, items: page.items.map(presentCredential) });
};

/** Of a space. */
export const credentials = router({
  list: reading()
    .input(inputs.spaceListInput)
    .output(credentialPage)
    .query(({ ctx: { request }, input }) => request.inContext(input.space_id, listed(input))),

  get: reading()
    .input(inputs.spaceCredentialInput)
    .output(credentialEnvelope)
    .query(async ({ ctx: { request }, input: { space_id: spaceId, credential_id: credentialId } }) => ({
      data: presentCredential(
        await request.inContext(spaceId, (ctx) => readCredential(ctx, { credentialId })),
      ),
    })),

  create: managing(created)
    .input(inputs.createSpaceCredentialInput)
    .output(credentialEnvelope)
    .mutation(async ({ ctx: { request }, input: { space_id: spaceId, ...input } }) => {
      const { credential } = await request.inContext(spaceId, (ctx) =>
        createCredential(ctx, { ...input, idempotency: null }),
      );
      return { data: presentCredential(credential) };
    }),

  update: managing(updated)
    .input(inputs.updateSpaceCredentialInput)
    .output(credentialEnvelope)
    .mutation(async ({ ctx: { request }, input }) => {
      const { space_id: spaceId, credential_id: credentialId, ...changes } = input;
      const credential = await request.inContext(spaceId, (ctx) =>
        updateCredential(ctx, { credentialId, ...changes }),
      );
      return { data: presentCredential(credential) };
    }),

  delete: managing(removed)
    .input(inputs.spaceCredentialInput)
    .output(deleted)
    .mutation(async ({ ctx: { request }, input: { space_id: spaceId, credential_id: credentialId } }) => {
      await request.inContext(spaceId, (ctx) => deleteCredential(ctx, { credentialId }));
      return { data: { id: credentialId, deleted: true as const } };
    }),
});

/** Tenant-wide. */
export const tenantCredentials = router({
  list: reading()
    .input(inputs.listInput)
    .output(credentialPage)
    .query(({ ctx: { request }, input }) => request.inContext(null, listed(input))),

  get: reading()
    .input(inputs.credentialInput)
    .output(credentialEnvelope)
    .query(async ({ ctx: { request }, input: { credential_id: credentialId } }) => ({
      data: presentCredential(await request.inContext(null, (ctx) => readCredential(ctx, { credentialId }))),
    })),

  create: managing(created)
    .input(inputs.createCredentialInput)
    .output(credentialEnvelope)
    .mutation(async ({ ctx: { request }, input }) => {
      const { credential } = await request.inContext(null, (ctx) =>
        createCredential(ctx, { ...input, idempotency: null }),
      );
      return { data: presentCredential(credential) };
    }),

  update: managing(updated)
    .input(inputs.updateCredentialInput)
    .output(credentialEnvelope)
    .mutation(async ({ ctx: { request }, input: { credential_id: credentialId, ...changes } }) => {
      const credential = await request.inContext(null, (ctx) =>
        updateCredential(ctx, { credentialId, ...changes }),
      );
      return { data: presentCredential(credential) };
    }),

  delete: managing(removed)
    .input(inputs.credentialInput)
    .output(deleted)
    .mutation(async ({ ctx: { request }, input: { credential_id: credentialId } }) => {
      await request.inContext(null, (ctx) => deleteCredential(ctx, { credentialId }));
      return { data: { id: credentialId, deleted: true as const } };
    }),
});
