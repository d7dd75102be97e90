import type { EventType } from '#domain/foundation/events/catalogue.ts';
import type { Permission } from '#domain/foundation/access/permissions.ts';
import type { ZodType } from 'zod';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Required permission, which the use case enforces. `own` names an operation on the caller itself, which needs no
     * grant.
     */
    permission?: Permission;
    own?: string;
    /** Whether the operation may answer with server-sent events. */
    streams?: true;
    /** Media types of the file that the operation returns. */
    sendsFile?: readonly string[];
    /** Whether browsers get its errors as pages. */
    refusesInPages?: true;
    /** How the operation takes a file: as its body, or in a form, which it takes beside JSON. */
    takesFile?: 'stream' | { form: ZodType };
    /** Why the operation needs no credential. */
    public?: string;
    /** Audit events that the operation records, or the reason for none. */
    audit?: readonly EventType[] | { none: string };
  }
}
