/** Roles that a member of a space can have. */
export const memberRoles = ['space_admin', 'space_editor', 'space_member', 'space_viewer'] as const;
export type MemberRole = (typeof memberRoles)[number];
