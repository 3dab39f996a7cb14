import type { Card } from '../../../../src/core/rules/display/card.ts'

export const imageId = '018f2f5e-7c1a-7000-8000-0123456789ab'

/** Returns a card with a value in every place. A test replaces the parts that it is about. */
export function sampleCard(parts: Partial<Card> = {}): Card {
  return {
    passType: 'eventTicket',
    organizationName: 'Harbour Cinema',
    description: 'Ticket to the late show',
    logoText: null,
    colors: { background: '#1b1d4d', foreground: '#ffffff', label: '#ffc15e' },
    images: { icon: imageId, logo: imageId, strip: imageId, thumbnail: imageId, hero: imageId },
    fields: {
      header: [{ key: 'hall', label: 'Hall', value: '3' }],
      primary: [{ key: 'film', label: 'Film', value: 'The Long Voyage' }],
      secondary: [{ key: 'seat', label: 'Seat', value: 'B7' }],
      auxiliary: [{ key: 'row', label: 'Row', value: 'B' }],
      back: [{ key: 'terms', label: 'Terms', value: 'No refunds.' }],
    },
    barcode: { format: 'qr', message: 'TICKET-1', altText: 'No. 1' },
    locations: [],
    relevantDate: null,
    links: [{ label: 'Programme', url: 'https://harbour.example/programme' }],
    expiresAt: null,
    voided: false,
    apple: {},
    google: {},
    ...parts,
  }
}

/** Texts that must never be interpreted as markup, wherever they are shown. */
export const hostileTexts = [
  '<img src=x onerror=alert(1)>',
  '</style><script>alert(2)</script>',
  `"><svg onload=alert(3)>`,
  `' autofocus onfocus='alert(4)`,
  '&lt;script&gt;alert(5)&lt;/script&gt;',
  '\u202Egnp.exe \u2066{{pass.label}}',
  '-->]]></title><base href=//evil.example>',
  'javascript:alert(6)',
]
