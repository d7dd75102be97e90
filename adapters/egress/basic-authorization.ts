/** Client id and secret as a header's value. RFC 6749, 2.3.1: both are form-encoded before they are joined. */
export function basicAuthorization(clientId: string, clientSecret: string): string {
  const pair = `${formEncoded(clientId)}:${formEncoded(clientSecret)}`;
  return `Basic ${Buffer.from(pair).toString('base64')}`;
}

function formEncoded(text: string): string {
  return new URLSearchParams({ _: text }).toString().slice(2);
}
