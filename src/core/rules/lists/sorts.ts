/** The sort keys of lists. A separate module, so that the command line does not load the contract's schemas. */

export const sortDirections = ['asc', 'desc'] as const

/** The first key is the default. */
export const passSorts = [
  'createdAt',
  'updatedAt',
  'label',
  'externalPassId',
  'status',
  'expiresAt',
  'templateName',
  'templateVersion',
  'revision',
  'groupKey',
] as const
