/** A message for ever: where UIDVALIDITY changes, the server has given its UIDs to other messages. */
export interface MessageRef {
  path: string;
  validity: string;
  uid: number;
}

/** As in addresses of the scheme `imap`. */
export function writeRef({ path, validity, uid }: MessageRef): string {
  return `${encodeURIComponent(path)};UIDVALIDITY=${validity}/;UID=${uid}`;
}

const form = /^([^;]{1,1500});UIDVALIDITY=(\d{1,20})\/;UID=(\d{1,10})$/;

/** Null: no reference to a message. */
export function readRef(ref: string): MessageRef | null {
  const [, path, validity, uid] = form.exec(ref) ?? [];
  if (path === undefined || validity === undefined) {
    return null;
  }
  try {
    return { path: decodeURIComponent(path), validity, uid: Number(uid) };
  } catch {
    return null;
  }
}
