import { z } from 'zod';
import { certificateField, hostField, portField } from '../shared/server-address.ts';

export const imapScope = z.strictObject({
  host: hostField,
  port: portField(993),
  tls: z
    .enum(['implicit', 'starttls', 'off'])
    .default('implicit')
    .describe(
      'implicit: encrypted from the beginning, as on port 993; starttls: as on port 143; off: the password is sent in the clear, to servers that the operator lists alone.',
    ),
  tls_certificate: certificateField,
  mailboxes: z
    .array(
      z
        .string()
        .min(1)
        .max(150)
        .refine(
          (path) => !/[\p{Cc}*%]/u.test(path) && path.isWellFormed(),
          'must be the name of one mailbox',
        ),
    )
    .min(1)
    .max(50)
    .refine((paths) => new Set(paths).size === paths.length, 'must not name a mailbox twice')
    .default(['INBOX'])
    .describe('Mailboxes whose messages are documents, with their parents, such as Archive/2026.'),
  since_days: z
    .int()
    .min(1)
    .max(36_500)
    .nullable()
    .default(null)
    .describe('Messages that arrived in so many days are documents; older ones are removed. Null: all.'),
});

export type ImapScope = z.infer<typeof imapScope>;
