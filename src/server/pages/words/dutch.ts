import type { PageWords } from '../page-words.ts'

/** Dutch: see PageWords. */
export const dutch: PageWords = {
  addTo: 'Voeg toe aan {wallet}',
  share: 'Voeg deze pas toe aan {wallet}.',
  or: '{wallet} of {other}',
  sandbox: {
    all: 'SANDBOX – geen echte pas: geen telefoon accepteert hem',
    one: 'SANDBOX – geen echte pas in {wallet}: geen {phone} accepteert hem',
  },
  androidPhone: 'Android-telefoon',
  validUntil: 'Geldig tot {time}',
  addToCalendar: 'Toevoegen aan agenda',
  more: 'Meer over deze pas',
  state: { ready: 'Klaar', preparing: 'Wordt voorbereid' },
  inApp: {
    title: 'Open in je browser:',
    text: 'deze app kan misschien geen passen toevoegen. Kijk in het menu of kopieer de link.',
    address: 'Link naar deze pagina',
    copy: 'Link kopiëren',
    copied: 'De link is gekopieerd.',
  },
  phone: {
    code: 'QR-code van het adres van deze pagina',
    title: 'Ga verder op je telefoon',
    text: 'Scan deze code met de camera.',
  },
  issuedBy: 'Uitgegeven door {organization}',
  reference: 'Referentie: {reference}',
  problems: {
    revoked: {
      title: 'Deze link is ingetrokken',
      what: 'De uitgever van de pas heeft deze link beëindigd, dus de pas kan er niet meer mee worden toegevoegd. Een pas die al in een wallet staat, blijft werken.',
      advice: 'Heb je de pas nog nodig, vraag de afzender dan om een nieuwe link.',
    },
    void: {
      title: 'Deze pas is geannuleerd',
      what: 'De uitgever heeft de pas geannuleerd, dus hij kan niet meer worden toegevoegd of gebruikt.',
      advice: 'Had je dat niet verwacht, vraag het dan aan de afzender.',
    },
    failed: {
      title: 'Deze pas kon niet worden gemaakt',
      what: 'Bij het voorbereiden van de pas ging iets mis, dus er is nog niets om toe te voegen. Het ligt niet aan jou.',
      advice: 'Laat het de afzender weten. Zodra het is hersteld, werkt deze link weer.',
    },
    expired: {
      title: 'Deze pas is verlopen',
      what: 'De geldigheid van deze pas is voorbij, dus hij kan niet meer worden toegevoegd.',
      advice: 'Denk je dat hij nog geldig zou moeten zijn, vraag het dan aan de afzender.',
    },
    suspended: {
      title: 'Deze link is voorlopig gesloten',
      what: 'Passen van deze uitgever kunnen op dit moment niet worden toegevoegd. Een pas die al in een wallet staat, blijft werken.',
      advice: 'Probeer deze link later nog eens of vraag het aan de afzender.',
    },
    linkExpired: {
      title: 'Deze link is verlopen',
      what: 'Links om een pas toe te voegen werken een beperkte tijd, en die van deze is voorbij.',
      advice: 'Vraag de afzender om een nieuwe link.',
    },
    malformed: {
      title: 'Deze link is niet volledig',
      what: 'Een deel van het adres ontbreekt of is veranderd; lange links worden in berichten soms afgebroken.',
      advice:
        'Open de link opnieuw vanuit het bericht of kopieer hem helemaal. Helpt dat niet, vraag dan om een nieuwe.',
    },
    platform: {
      title: 'Deze wallet is niet beschikbaar',
      what: 'De pas kan niet meer aan dit soort wallet worden toegevoegd.',
      advice: 'Vraag de afzender hoe je de pas op een andere manier krijgt.',
    },
    unknown: {
      title: 'Deze link is niet geldig',
      what: 'Hij leidt naar geen enkele pas. Misschien is hij verkeerd getypt of onderweg veranderd.',
      advice: 'Open de link opnieuw vanuit het bericht. Helpt dat niet, vraag de afzender dan om een nieuwe.',
    },
    busy: {
      title: 'Te veel bezoeken tegelijk',
      what: 'Vanuit jouw netwerk zijn meer links geopend dan nu beantwoord kunnen worden.',
      advice: 'Wacht een paar seconden en laad deze pagina dan opnieuw.',
    },
    fault: {
      title: 'De pas kan nu niet worden getoond',
      what: 'Er werkt iets niet aan onze kant. Je link en je pas zijn in orde.',
      advice: 'Laad deze pagina over een minuut opnieuw.',
    },
    refused: {
      title: 'Deze pas kan niet aan {wallet} worden toegevoegd',
      what: '{wallet} accepteert hem zo niet. Het ligt niet aan jou, en opnieuw proberen helpt niet.',
      advice: 'Laat het de afzender weten. Zodra het is hersteld, werkt deze link weer.',
    },
  },
}
