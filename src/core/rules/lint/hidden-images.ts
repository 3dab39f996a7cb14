import type { Definition, ImageRole, PassType } from '../../contract/schemas/definition.ts'
import { ownImageRoles } from '../template/image-choice.ts'

/** For each image role, the pass types with a style that shows the image on an iPhone. */
export type ImageTypes = Partial<Record<ImageRole, readonly PassType[]>>

interface HiddenImageFacts {
  definition: Definition
  passType: PassType
  imageTypes: ImageTypes
  isApple: boolean
  isGoogle: boolean
}

/** Yields the images of a design that no configured wallet shows, with a message for each. */
export function* hiddenImages(facts: HiddenImageFacts): Generator<{ role: ImageRole; message: string }> {
  const { definition, passType, imageTypes, isApple, isGoogle } = facts
  const given = Object.entries(definition.design.images).flatMap(([role, image]) => (image ? [role as ImageRole] : []))
  for (const role of given) {
    const isOfType = imageTypes[role]?.includes(passType) ?? false
    const only = isOfType ? hiddenByStyle(role, facts) : `No wallet shows the ${role} of a pass of the type ${passType}`
    const isShown = (isApple && only === undefined) || (isGoogle && isOnGoogle(role, definition))
    if (!isShown) yield { role, message: `${only ?? `Google Wallet does not show the ${role}`}. Remove the image` }
  }
}

const ONLY_ON_POSTERS: readonly ImageRole[] = ['artwork', 'primaryLogo', 'secondaryLogo']

/** Returns why an iPhone does not show an image in the style of the definition, although another style shows it. */
function hiddenByStyle(role: ImageRole, { definition, passType }: HiddenImageFacts): string | undefined {
  const { apple = {}, design } = definition
  const isPoster =
    apple.poster === true || apple.preferredStyleSchemes !== undefined || apple.posterGeneric !== undefined
  if (isPoster || passType === 'boardingPass') return undefined
  if (ONLY_ON_POSTERS.includes(role) || (role === 'background' && passType !== 'eventTicket')) {
    return `Only a poster shows the ${role}, and apple.poster is not set`
  }
  const isCovered = design.images.strip !== undefined && (role === 'thumbnail' || role === 'background')
  return isCovered && passType === 'eventTicket' ? `An event ticket with a strip does not show the ${role}` : undefined
}

function isOnGoogle(role: ImageRole, definition: Definition): boolean {
  if (role === 'strip') return definition.design.images.hero === undefined
  if (role === 'thumbnail') return ownImageRoles(definition).includes('thumbnail')
  return role === 'icon' || role === 'logo' || role === 'hero'
}
