import type { Route } from '../route.ts'
import { broadcasts } from './broadcasts.ts'
import { images } from './images.ts'
import { notifications } from './notifications.ts'
import { passes } from './passes.ts'
import { projects } from './projects.ts'
import { templateVersions } from './template-versions.ts'
import { templates } from './templates.ts'
import { tokens } from './tokens.ts'

/** Every endpoint of the interface, by resource and operation. */
export const contract = {
  projects,
  templates,
  templateVersions,
  images,
  passes,
  notifications,
  broadcasts,
  tokens,
} satisfies Record<string, Record<string, Route>>
export type Contract = typeof contract
