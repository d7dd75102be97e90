/** A message for ever: where UIDVALIDITY changes, the server has given its UIDs to other messages. */
export interface MessageRef {
  path: string;
  validity: string;
  uid: number;
  /** Number of an attachment among the parts of the message; null: the message itself. */
  section: string | null;
}

/** As in addresses of the scheme `imap`: an attachment is one level below its message. */
export function writeRef({ path, validity, uid, section }: MessageRef): string {
  const message = `${encodeURIComponent(path)};UIDVALIDITY=${validity}/;UID=${uid}`;
  return section === null ? message : `${message}/;SECTION=${section}`;
}

const form =
  /^([^;]{1,1500});UIDVALIDITY=(\d{1,20})\/;UID=(\d{1,10})(?:\/;SECTION=(\d{1,5}(?:\.\d{1,5}){0,30}))?$/;

/** Null: no reference to a message or an attachment. */
export function readRef(ref: string): MessageRef | null {
  const [, path, validity, uid, section = null] = form.exec(ref) ?? [];
  if (path === undefined || validity === undefined) {
    return null;
  }
  try {
    return { path: decodeURIComponent(path), validity, uid: Number(uid), section };
  } catch {
    return null;
  }
}
