/** A part of a message: headers that describe it, and its lines as they are sent. */
export interface MailPart {
  headers: readonly string[];
  body: string;
}

export const mailText = (text: string, type = 'text/plain'): MailPart => ({
  headers: [`Content-Type: ${type}; charset=utf-8`, 'Content-Transfer-Encoding: 8bit'],
  body: text,
});

/** An attachment in base64; `type` and `disposition` with their parameters. */
export const mailFile = (
  content: string | Uint8Array,
  type: string,
  disposition: string | null,
): MailPart => ({
  headers: [
    `Content-Type: ${type}`,
    'Content-Transfer-Encoding: base64',
    ...(disposition === null ? [] : [`Content-Disposition: ${disposition}`]),
  ],
  body: Buffer.from(content)
    .toString('base64')
    .replace(/.{76}(?=.)/g, '$&\r\n'),
});

let containers = 0;

export function mailParts(subtype: string, ...parts: readonly MailPart[]): MailPart {
  containers += 1;
  const boundary = `part-${containers}`;
  const written = parts.map(
    ({ headers, body }) => `--${boundary}\r\n${headers.join('\r\n')}\r\n\r\n${body}\r\n`,
  );
  return {
    headers: [`Content-Type: multipart/${subtype}; boundary="${boundary}"`],
    body: `${written.join('')}--${boundary}--`,
  };
}

/** A message with an ASCII subject whose content is this part. */
export const mailOf = (subject: string, { headers, body }: MailPart): string =>
  [
    'From: Writer <writer@example.org>',
    'To: reader@example.org',
    `Subject: ${subject}`,
    'MIME-Version: 1.0',
    ...headers,
    '',
    body,
    '',
  ].join('\r\n');
